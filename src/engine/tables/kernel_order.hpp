#pragma once
// The order in which the fusion search sees the kernels: what of a graph does
// not depend on tiles, sharding or costs, computed once for all outer points.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/memory_budget.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// What engine/tables/symmetry.hpp finds.
struct Symmetry {
  using Pairs = std::vector<std::pair<KernelId, KernelId>>;

  /// (u, v) ask for u in no later partition than v, beyond what tensors do; u is
  /// before v in the topological order of the graph.
  Pairs order;
  /// Each entry holds pairs of kernels; if all are exchanged for their partners graph and costs
  /// stay as they are.
  std::vector<Pairs> exchanges;
  /// Ideals that exchanges make of each other are to be as one; then there is no order.
  bool by_orbits = false;
};

/// The order in which kernels are numbered: by their position in a topological order,
/// forward ones first.  Immutable.
class KernelOrder {
 public:
  /// Throws Stopped.
  explicit KernelOrder(const DataflowGraph& graph, Symmetry symmetry = {},
                       const Deadline& deadline = {});

  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] KernelId id(std::size_t position) const { return ids_[position]; }
  [[nodiscard]] std::size_t position(KernelId id) const { return positions_[id.index()]; }
  /// The pairs that symmetry asks for beyond the order of tensors.
  [[nodiscard]] const Symmetry::Pairs& pairs() const { return pairs_; }

  /// For each kernel the set of it and all that come after it by tensors or pairs.
  [[nodiscard]] const std::vector<KernelSet>& descendants() const { return descendants_; }
  /// The same by tensors alone.
  [[nodiscard]] const std::vector<KernelSet>& tensor_descendants() const {
    return pairs_.empty() ? descendants_ : tensor_descendants_;
  }

  /// Positions that may be exchanged all at once, the earlier of two first, ascending.
  using Exchange = std::vector<std::pair<std::size_t, std::size_t>>;
  [[nodiscard]] const std::vector<Exchange>& exchanges() const { return exchanges_; }
  /// Whether ideals that exchanges make of each other are as one.
  [[nodiscard]] bool by_orbits() const { return by_orbits_ && !exchanges_.empty(); }
  /// The ideal that stands for those which exchanges make of this one: mostly the same for
  /// all of them.
  [[nodiscard]] KernelSet representative(KernelSet ideal) const;
  /// For each kernel the first one that exchanges can put into its place.
  [[nodiscard]] const std::vector<std::size_t>& first_alike() const { return first_alike_; }

  /// Memory of the closures, which is nearly all it takes.
  [[nodiscard]] std::size_t heap_bytes() const {
    return (descendants_.size() + tensor_descendants_.size()) *
           (sizeof(KernelSet) + size() / 8 + kAllocation);
  }

 private:
  void add_exchange(const Symmetry::Pairs& pairs);
  void find_alike();
  [[nodiscard]] std::vector<KernelSet> closure(
      const DataflowGraph& graph, const std::vector<std::vector<std::size_t>>& followers,
      const Deadline& deadline) const;

  Symmetry::Pairs pairs_;
  bool by_orbits_ = false;
  std::vector<KernelId> ids_;
  std::vector<std::size_t> positions_;
  std::vector<KernelSet> descendants_;
  std::vector<KernelSet> tensor_descendants_;  // empty if there are no pairs
  std::vector<Exchange> exchanges_;
  std::vector<std::size_t> first_alike_;
};

}  // namespace dfsearch
