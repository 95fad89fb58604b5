#pragma once
// The shardings of a layer as a set of loops for each kernel.  A joint search branches on these
// sets (docs/search.md, section 9).

#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "engine/tables/search_bounds.hpp"
#include "graph/loop_set.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Whether every kernel has exactly one loop left.
bool is_decided(const LoopSets& sets);

std::vector<LoopPair> first_sharding(const LoopSets& sets);

/// Immutable; refers to the problem.  Long operations throw Stopped.
class ShardingSpace {
 public:
  explicit ShardingSpace(const Problem& problem, SearchBounds bounds = {},
                         const Deadline& deadline = {});

  /// All loops that each kernel may shard, or its pin if it has one.
  [[nodiscard]] const LoopSets& all() const { return all_; }

  /// Whether some kernels can be exchanged and SearchBound::Symmetry is used.
  [[nodiscard]] bool has_symmetry() const { return !exchanges_.empty(); }

  /// Removes loops by lex-leaders: of two kernels that can be exchanged, the earlier has no later
  /// loop than the other.  Returns false if some kernel has no loop left.
  [[nodiscard]] bool break_symmetry(LoopSets& sets) const;

  /// Removes each loop that another loop of its kernel can replace at no cost, whatever the loops
  /// of other kernels.  The loops left contain one of the best mappings, not necessarily the first.
  /// `network` and `tile` are decided; the sharding of `decisions` is not used.  `cache` belongs to
  /// the machine.
  void drop_dominated(const LayerDecisions& decisions, LoopSets& sets,
                      CoreOptionsCache& cache) const;

 private:
  const Problem& problem_;
  const SearchBounds bounds_;
  const Deadline deadline_;
  LoopSets all_;
  std::vector<std::pair<std::size_t, std::size_t>> exchanges_;  // of all_
};

}  // namespace dfsearch
