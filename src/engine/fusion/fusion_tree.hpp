#pragma once
// Fusion: which kernels are on the chip together, as a path through the order
// ideals of the dataflow graph (docs/search.md, section 4).

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "engine/tree/effort.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// A closed partition and, through `previous`, all before it.  Shared by the
/// nodes that continue from it; immutable.
struct ClosedPartition {
  std::shared_ptr<const ClosedPartition> previous;
  KernelList kernels;
  std::int32_t index = 0;
  MemoryCharge memory{};
};

/// One kernel put into the next partition or kept out of it.  Nodes that an interrupted enumeration
/// leaves behind share their common decisions: sets of their own would take megabytes in a graph of
/// thousands of kernels.
struct Decision {
  std::shared_ptr<const Decision> previous;
  std::uint32_t kernel = 0;
  bool inside = false;
};

/// A partial fusion: closed partitions that hold an order ideal, and possibly a
/// partition in the making.
struct FusionNode {
  std::shared_ptr<const ClosedPartition> closed;  ///< the last one; null: none yet
  KernelSet done;                                 ///< kernels of all closed partitions
  Ticks spent = 0;                                ///< their time
  Ticks bound = 0;                                ///< no completion takes less
  std::int32_t next_index = 0;                    ///< least index the next partition may have
  std::int32_t used = 0;                          ///< closed partitions
  const PartitionDuals* duals = nullptr;          ///< duals used by the bound, if any

  /// An enumeration of the next partition that was interrupted goes on from here.
  struct Opened {
    std::int32_t index = 0;
    std::shared_ptr<const Decision> last;  ///< and through it all decisions before; null: none

    /// The kernels decided to be inside, and those decided to stay out; `kernels` is the size of
    /// the graph.
    [[nodiscard]] KernelSet inside(std::size_t kernels) const { return decided(true, kernels); }
    [[nodiscard]] KernelSet outside(std::size_t kernels) const { return decided(false, kernels); }
    [[nodiscard]] static Opened of(std::int32_t index, const KernelSet& inside,
                                   const KernelSet& outside);

   private:
    [[nodiscard]] KernelSet decided(bool inside, std::size_t kernels) const;
  };
  std::shared_ptr<const Opened> opened;  ///< null: between partitions
};

struct Fusion {
  Ticks time = 0;                       ///< time of one layer and one sample
  std::vector<std::int64_t> partition;  ///< per kernel of the graph's list
};

/// Receives the children and complete fusions of a node.
class FusionSink {
 public:
  virtual ~FusionSink() = default;
  /// Nodes with a bound above this are useless.  It may fall from call to call.
  [[nodiscard]] virtual Ticks limit() const = 0;
  virtual void child(FusionNode&& node) = 0;
  virtual void complete(Fusion&& fusion) = 0;
};

/// The tree of fusions of one layer.  It refers to the tables and is immutable; any thread
/// may use it.
class FusionTree {
 public:
  explicit FusionTree(const FusionTables& tables);

  [[nodiscard]] const KernelOrder& order() const { return tables_.order(); }
  [[nodiscard]] FusionNode root() const;

  /// Sum over the kernels that are in no closed partition of the node.
  [[nodiscard]] Rest rest(const FusionNode& node) const;

  /// Lower bound on the time of every completion of the node, by the duals of the tables.
  [[nodiscard]] Ticks bound(const FusionNode& node, const PartitionDuals& duals) const;

  /// Lower bound by the duals and all other bounds of a node, whatever `node.bound` is; `duals` may
  /// be null.
  [[nodiscard]] Ticks bound_anew(const FusionNode& node, const PartitionDuals* duals) const;

  /// The outcome of branching a node, beside its children.
  struct Branched {
    std::int64_t cut = 0;  ///< branches that a capacity cut
    Work work = 0;
  };
  /// Emits every way to close one more partition that is feasible and whose bound is within the
  /// sink's limit, each once.  Past `budget` steps the rest of the enumeration is emitted as opened
  /// nodes instead.  `duals` belong to the tables, or are null.  Throws Stopped by the deadline of
  /// the tables.
  Branched branch(const FusionNode& node, std::int64_t budget, FusionSink& sink,
                  const PartitionDuals* duals = nullptr) const;

  /// Whether the fusion is a completion of the node, by the sets of kernels alone.
  [[nodiscard]] bool contains(const FusionNode& node, const Fusion& fusion) const;

  /// The partition of each kernel of the list; -1 for kernels in none yet.
  [[nodiscard]] std::vector<std::int64_t> assignment(const ClosedPartition* closed) const;

 private:
  const FusionTables& tables_;
  PartitionRules rules_;
};

}  // namespace dfsearch
