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

/// A closed partition and, through `previous`, all before it.  The nodes that continue from it
/// share it.  Immutable.
struct ClosedPartition {
  std::shared_ptr<const ClosedPartition> previous;
  KernelList kernels;
  std::int32_t index = 0;
  MemoryCharge memory{};
};

/// The decision to put a kernel into the next partition or to keep it out.  The nodes that an
/// interrupted enumeration emits share their common decisions: sets of their own would take
/// megabytes in a graph of thousands of kernels.
struct Decision {
  std::shared_ptr<const Decision> previous;
  std::uint32_t kernel = 0;
  bool inside = false;
};

/// A partial fusion: closed partitions that hold an order ideal, and possibly a
/// partition in the making.
struct FusionNode {
  std::shared_ptr<const ClosedPartition> closed;  ///< last closed partition; null: none yet
  KernelSet done;                                 ///< kernels of all closed partitions
  Ticks spent = 0;                                ///< time of the closed partitions
  Ticks bound = 0;                                ///< lower bound on the time of all completions
  std::int32_t next_index = 0;                    ///< least index the next partition may have
  std::int32_t used = 0;                          ///< number of closed partitions
  const PartitionDuals* duals = nullptr;          ///< duals used by the bound, if any

  /// The decisions of an interrupted enumeration of the next partition, which continues from here.
  struct Opened {
    std::int32_t index = 0;
    std::shared_ptr<const Decision> last;  ///< linked to all decisions before; null: none

    /// The kernels decided to be inside, and those decided to stay out; `kernels` is the size of
    /// the graph.
    [[nodiscard]] KernelSet inside(std::size_t kernels) const { return decided(true, kernels); }
    [[nodiscard]] KernelSet outside(std::size_t kernels) const { return decided(false, kernels); }
    [[nodiscard]] static Opened of(std::int32_t index, const KernelSet& inside,
                                   const KernelSet& outside);

   private:
    [[nodiscard]] KernelSet decided(bool inside, std::size_t kernels) const;
  };
  std::shared_ptr<const Opened> opened;  ///< null: no partition is open
};

struct Fusion {
  Ticks time = 0;                       ///< time of one layer and one sample
  std::vector<std::int64_t> partition;  ///< of each kernel, in the order of the graph's list
};

/// Receives the children and complete fusions of a node.
class FusionSink {
 public:
  virtual ~FusionSink() = default;
  /// Nodes with a bound above this limit are useless.  The limit may fall from call to call.
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

  /// Sum of the shares of all kernels that are in no closed partition of the node.
  [[nodiscard]] Rest rest(const FusionNode& node) const;

  /// Lower bound on the time of every completion of the node, by the duals of the tables.
  [[nodiscard]] Ticks bound(const FusionNode& node, const PartitionDuals& duals) const;

  /// Lower bound of a node by the duals and all other bounds, without use of `node.bound`; `duals`
  /// may be null.
  [[nodiscard]] Ticks bound_anew(const FusionNode& node, const PartitionDuals* duals) const;

  /// The outcome of branching a node, beside its children.
  struct Branched {
    std::int64_t cut = 0;  ///< branches cut by a capacity
    Work work = 0;
  };
  /// Emits, once each, every feasible way to close one more partition whose bound is within the
  /// sink's limit.  After `budget` steps it emits the subtrees that are left as opened nodes
  /// instead.  `duals` belong to the tables, or are null.  Throws Stopped by the deadline of the
  /// tables.
  Branched branch(const FusionNode& node, std::int64_t budget, FusionSink& sink,
                  const PartitionDuals* duals = nullptr) const;

  /// Whether the fusion is a completion of the node; only the sets of kernels are compared.
  [[nodiscard]] bool contains(const FusionNode& node, const Fusion& fusion) const;

  /// The partition of each kernel of the graph's list; -1 for kernels that are in none yet.
  [[nodiscard]] std::vector<std::int64_t> assignment(const ClosedPartition* closed) const;

 private:
  const FusionTables& tables_;
  PartitionRules rules_;
};

}  // namespace dfsearch
