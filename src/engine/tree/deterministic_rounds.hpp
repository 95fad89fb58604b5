#pragma once
// The deterministic mode of branch and bound: rounds of nodes, all pruned against the incumbent at
// the beginning of the round.  The size of a round depends on the number of nodes expanded before,
// and results are merged in the order of the nodes.  So the tree depends on the problem alone: any
// number of threads expands the same nodes and finds the same answer.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engine/tree/search_problem.hpp"

namespace dfsearch {

/// The rounds of one tree; Tree is a BranchAndBound.
template <class Tree>
class DeterministicRounds {
 public:
  explicit DeterministicRounds(Tree& tree) : tree_(tree) {}

  /// Expands rounds until the search must stop or no node is open.
  void run() {
    while (!tree_.must_stop()) {
      std::vector<Entry> batch = next_nodes();
      if (batch.empty()) {
        tree_.open_.release();
        return;
      }
      expand(std::move(batch));
      tree_.open_.release();
      if (tree_.on_round_) tree_.on_round_();
    }
  }

 private:
  using Entry = typename Tree::Entry;
  using Sink = typename Tree::Sink;
  using Problem = typename Tree::Problem;

  // The size of a round is a share of the nodes expanded before, so that the first rounds expand
  // hardly more nodes than the default mode.
  static constexpr std::int64_t kMostNodes = 64;
  static constexpr std::int64_t kPart = 8;
  static constexpr int kNodesPerDive = 4096;

  [[nodiscard]] std::vector<Entry> next_nodes() {
    const std::int64_t before = tree_.nodes_.load(std::memory_order_relaxed);
    const std::int64_t size = std::clamp(before / kPart, std::int64_t{1}, kMostNodes);
    std::vector<Entry> batch;
    while (std::ssize(batch) < size) {
      auto entry = tree_.open_.pop();
      if (!entry || tree_.drop_all_from(*entry)) break;
      if (!tree_.drop_outdated(entry->node)) batch.push_back(std::move(*entry));
    }
    return batch;
  }

  void expand(std::vector<Entry>&& batch) {
    const int budget = tree_.is_full() ? kNodesPerDive : 1;
    const typename Tree::Snapshot frozen{.cutoff = tree_.cutoff(),
                                         .solution = tree_.incumbent_.solution()};
    // Slices of work beside the tree come first, since they take longer than nodes.
    const auto slices = slices_at(batch);
    std::vector<std::unique_ptr<Sink>> sinks(slices.size() + batch.size());
    // One task per worker: a node may take less time than starting a task does.
    std::atomic<std::size_t> next{0};
    const auto workers = static_cast<std::size_t>(tree_.workers_);
    Tree::run_tasks(std::min(workers, sinks.size()), [&](std::size_t) {
      for (std::size_t i = next++; i < sinks.size(); i = next++) {
        sinks[i] = std::make_unique<Sink>(tree_, &frozen);
        if constexpr (LearningProblem<Problem>) {
          if (i < slices.size()) tree_.run(slices[i], *sinks[i]);
        }
        if (i >= slices.size()) dive(std::move(batch[i - slices.size()]), budget, *sinks[i]);
      }
    });
    if constexpr (LearningProblem<Problem>) {
      for (const auto& slice : slices) tree_.problem_.publish(slice);
    }
    for (auto& sink : sinks) {
      for (auto& [solution, found_by] : sink->solutions) {
        tree_.offer(std::move(solution), found_by);
      }
      tree_.admit_children(*sink);
      tree_.count(*sink);
      tree_.open_.push(sink->children);
    }
  }

  struct NoSlice {};
  /// Returns the slices that are due at the nodes of a round.
  [[nodiscard]] auto slices_at([[maybe_unused]] const std::vector<Entry>& batch) const {
    if constexpr (LearningProblem<Problem>) {
      std::vector<typename Problem::Slice> slices;
      for (const Entry& entry : batch) tree_.problem_.claim_slices(entry.node, slices);
      return slices;
    } else {
      return std::vector<NoSlice>{};
    }
  }

  /// Expands the node and, depth first, up to `budget` nodes below it.
  void dive(Entry entry, int budget, Sink& sink) {
    tree_.expand(std::move(entry), sink);
    while (--budget > 0 && !sink.children.empty() && !sink.stopped) {
      Entry deepest = std::move(sink.children.back());
      sink.children.pop_back();
      tree_.expand(std::move(deepest), sink);
    }
  }

  Tree& tree_;
};

}  // namespace dfsearch
