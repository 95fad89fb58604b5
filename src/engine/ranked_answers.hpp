#pragma once
// The answers of a search one after the other: the best, then the best of other degrees than those
// met.  What the searches for plans and for executions share.

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/memory_budget.hpp"
#include "engine/search_result.hpp"
#include "engine/tree/branch_and_bound.hpp"

namespace dfsearch {

/// One tree after the other, whose counts go into one result.  `Search` has limits, threads,
/// deterministic, top and on_incumbent; `Result` is a `Found` with alternatives and stats.
template <class Search, class Found, class Result>
class RankedAnswers {
 public:
  RankedAnswers(const Search& search, Result& result)
      : search_(search), result_(result), memory_(search.limits.memory) {}

  /// As many as are asked for; `next()` gives the best answer of degrees not met yet.
  template <class Next>
  void find(const Next& next) {
    static_cast<Found&>(result_) = next();
    bool searched_all = result_.status == SearchStatus::Optimal;
    while (searched_all && rank_ <= search_.top) {
      const Found found = next();
      searched_all = found.status == SearchStatus::Optimal;
      if (found.status == SearchStatus::Infeasible) {
        result_.alternatives_complete = true;
      } else {
        result_.alternatives.push_back(found);
      }
    }
  }

  /// Searches one tree.
  template <class Problem>
  BranchAndBoundResult<typename Problem::Solution> search(const Problem& problem) {
    Limits limits = search_.limits;
    limits.nodes -= result_.stats.nodes;
    BranchAndBound<Problem> tree(problem, {.limits = limits,
                                           .threads = search_.threads,
                                           .deterministic = search_.deterministic,
                                           .memory = &memory_});
    if (search_.on_incumbent) {
      tree.on_incumbent([&](Progress progress, const typename Problem::Solution&) {
        progress.rank = rank_;
        search_.on_incumbent(progress);
      });
    }
    auto found = tree.run();
    result_.measured += problem.measured();
    result_.evaluated += problem.evaluated();
    result_.stats.add_counts(found.stats);
    result_.stats.threads = found.stats.threads;
    if (rank_ == 1) {
      result_.stats.proof_nodes = found.stats.nodes;
      result_.stats.proof_time = found.stats.time;
      result_.stats.first_incumbent = found.stats.first_incumbent;
      result_.stats.best_incumbent = found.stats.best_incumbent;
    }
    if (found.solution) ++rank_;
    return found;
  }

  /// What a tree says of its answer.
  template <class Solution>
  void judge(Found& answer, const BranchAndBoundResult<Solution>& found) const {
    answer.stopped_by = found.stopped_by;
    answer.lower_bound = found.lower_bound;
    if (found.solution) {
      answer.gap = relative_gap(found.cost, found.lower_bound);
      const bool near = answer.gap <= search_.limits.gap;
      answer.status = near ? SearchStatus::Optimal : SearchStatus::Feasible;
    } else {
      answer.status = found.stopped_by == StopReason::None ? SearchStatus::Infeasible
                                                           : SearchStatus::NoSolution;
    }
  }

  [[nodiscard]] Seconds elapsed() const {
    return Seconds(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  const Search& search_;
  Result& result_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  MemoryBudget memory_;
  int rank_ = 1;  // of the answer that is sought
};

}  // namespace dfsearch
