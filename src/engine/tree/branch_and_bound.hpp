#pragma once
// Parallel branch and bound.
//
// 1. The root goes into the open nodes.
// 2. A worker takes the node of least bound (best first), drops it if the
//    incumbent has become good enough meanwhile, and expands it otherwise.
// 3. Each child is dropped at once if its bound proves that it cannot beat the
//    incumbent: there is no tolerance, and any optimal solution may be the answer.
//    The answer of an OrderedProblem is the first optimal solution for any order of
//    expansion: a node whose bound equals the cost of the incumbent is kept if it
//    may hold a solution that precedes the incumbent.
// 4. The remaining children are offered to the problem (`admit`), which drops
//    children that earlier nodes dominate.
// 5. When no node is open and none is held by a worker, the incumbent is proved.
//
// Best first expands the fewest nodes but keeps many of them open.  Past `open_limit` a worker
// therefore finishes the subtree of its node depth first before it takes another, which bounds the
// memory.
//
// If a checkpoint is due, the workers stop as at a limit and hand their nodes back.  The open nodes
// and the incumbent are then the whole state: both are passed to the caller, and the workers go on.
//
// Deterministic mode: deterministic_rounds.hpp.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "base/parallel_for.hpp"
#include "engine/tree/deterministic_rounds.hpp"
#include "engine/tree/open_nodes.hpp"
#include "engine/tree/search_problem.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

/// One search.  `run` is called once; nothing here is shared between searches.
template <SearchProblem P>
class BranchAndBound {
 public:
  using Problem = P;
  using Node = typename P::Node;
  using Solution = typename P::Solution;
  using Entry = typename OpenNodes<Node>::Entry;

  BranchAndBound(const P& problem, BranchAndBoundOptions options)
      : problem_(problem),
        options_(options),
        workers_(std::max(1, std::min(options_.threads, hardware_threads()))),
        open_(workers_) {}

  // Before `run` only:

  void start_from(Solution&& solution, char found_by) { offer(std::move(solution), found_by); }

  /// A solution known to be right: where DFSEARCH_CHECKS is defined, a node that
  /// contains it and has a bound above its cost is an InternalError.
  void check_against(Solution&& solution) requires CheckableProblem<P> {
    debug_solution_ = std::make_shared<const Solution>(std::move(solution));
  }

  /// Resumes with the incumbent of an earlier search, which this search does not count as a find.
  void resume_from(Solution&& incumbent, char found_by) {
    const Score cost = problem_.cost(incumbent);
    best_cost_ = std::min(best_cost_, cost);
    offer_quietly(cost, std::move(incumbent), found_by);
  }
  /// Resumes with the open nodes of an earlier search, in the order in which they came up, in place
  /// of the root.
  void resume_from(std::vector<Entry>&& entries) {
    std::erase_if(entries, [this](const Entry& entry) { return !problem_.admit(entry.node); });
    for (Entry& entry : entries) entry.memory = charge(entry.node);
    open_.push(entries);
    resumed_ = true;
  }

  /// Called at every better solution, by one worker at a time.
  void on_incumbent(std::function<void(const Progress&, const Solution&)> call) {
    on_incumbent_ = std::move(call);
  }

  /// Called in deterministic mode after every round, by the thread of `run` while no worker
  /// works.
  void on_round(std::function<void()> call) { on_round_ = std::move(call); }

  /// Called by the thread of `run` while no worker works, with all open nodes in
  /// the order in which they came up.
  void on_checkpoint(std::function<void(std::vector<Entry>&)> call) {
    on_checkpoint_ = std::move(call);
    checkpoint_due_ = std::min(options_.checkpoint_interval, kFirstCheckpoint);
  }

  BranchAndBoundResult<Solution> run() {
    if (!resumed_) {
      Node root = problem_.root();
      std::vector<Entry> first;
      first.push_back({.bound = problem_.bound(root), .sequence = 0, .node = std::move(root)});
      open_.push(first);
    }
    if (!options_.deterministic) expand_alone();
    std::optional<tbb::task_arena> arena;
    for (;;) {
      if (workers_ == 1) {
        run_workers();
      } else if (options_.deterministic || open_.size() > 0) {
        if (!arena) arena.emplace(workers_);
        arena->execute([this] { run_workers(); });
      }
      pruned_.fetch_add(open_.discard_above(cutoff()), std::memory_order_relaxed);
      if (has_ended() || open_.size() == 0) return result();
      show_checkpoint();
    }
  }

  // At any time, any thread:

  [[nodiscard]] Progress progress() const {
    // In this order: when the last node is gone its solution is the incumbent.
    const Score bound = lower_bound();
    const Score cost = incumbent_.cost();
    return {.time = elapsed(),
            .nodes = nodes_.load(std::memory_order_relaxed),
            .open = static_cast<std::int64_t>(open_.size()),
            .incumbent = cost,
            .lower_bound = std::min(bound, cost),
            .found_by = incumbent_.found_by()};
  }

  // While no worker works, in a checkpoint or after `run`:

  /// Returns the open nodes in the order in which they came up, and removes them.
  [[nodiscard]] std::vector<Entry> take_open() { return open_.take_all(); }
  /// Returns the open nodes in no order, for the caller to destroy later (OpenNodes::leave).
  [[nodiscard]] std::shared_ptr<const void> leave_open() { return open_.leave(); }
  /// Calls visit(bound, entry) for each open node, in no order.
  template <class Visit>
  void for_each_open(const Visit& visit) const {
    open_.for_each(visit);
  }

  [[nodiscard]] BranchAndBoundResult<Solution> result() const {
    BranchAndBoundResult<Solution> result;
    result.solution = incumbent_.solution();
    result.cost = incumbent_.cost();
    result.found_by = incumbent_.found_by();
    result.lower_bound = std::min(lower_bound(), result.cost);
    // If no node is open, the search is complete even if a limit was met.
    if (open_.size() > 0) result.stopped_by = stopped_by_.load(std::memory_order_relaxed);
    result.stats.nodes = nodes_.load(std::memory_order_relaxed);
    result.stats.pruned_by_bound = pruned_.load(std::memory_order_relaxed);
    result.stats.pruned_by_dominance = dominated_.load(std::memory_order_relaxed);
    result.stats.incumbents = incumbents_.load(std::memory_order_relaxed);
    result.stats.time = elapsed();
    result.stats.first_incumbent = first_incumbent_;
    result.stats.best_incumbent = best_incumbent_;
    result.stats.threads = workers_;
    return result;
  }

 private:
  template <class Tree>
  friend class DeterministicRounds;
  using WallClock = std::chrono::steady_clock;

  /// Whether solutions of equal cost have an order.
  static constexpr bool kFindsFirst = OrderedProblem<P>;
  static constexpr Seconds kFirstCheckpoint{0.1};
  static constexpr Seconds kAlone{0.005};  ///< twice the time to start threads

  /// The incumbent at the beginning of a round.
  struct Snapshot {
    Score cutoff;
    std::shared_ptr<const Solution> solution;
  };

  class Sink final : public Expansion<Node, Solution> {
   public:
    /// Prunes against the incumbent or, if not null, against the caller's snapshot; solutions
    /// are then kept for the merge.
    explicit Sink(BranchAndBound& search, const Snapshot* frozen = nullptr)
        : search_(search), frozen_(frozen) {}
    [[nodiscard]] Score cutoff() const override {
      return frozen_ != nullptr ? frozen_->cutoff : search_.cutoff();
    }
    [[nodiscard]] std::shared_ptr<const Solution> incumbent() const override {
      return frozen_ != nullptr ? frozen_->solution : search_.incumbent_.solution();
    }
    [[nodiscard]] bool is_frozen() const { return frozen_ != nullptr; }
    void child(Node&& node) override {
      const Score bound = search_.problem_.bound(node);
      DFSEARCH_ASSERT(bound >= parent);
      search_.check(bound, node);
      if (search_.useless(bound, node, *this)) {
        ++pruned;
        return;
      }
      MemoryCharge memory = search_.charge(node);
      children.push_back(
          {.bound = bound, .sequence = 0, .node = std::move(node), .memory = std::move(memory)});
    }
    void solution(Solution&& solution, char found_by) override {
      if (frozen_ != nullptr) {
        solutions.emplace_back(std::move(solution), found_by);
      } else {
        search_.offer(std::move(solution), found_by);
      }
    }

    std::vector<Entry> children;
    std::vector<std::pair<Solution, char>> solutions;
    std::int64_t pruned = 0;
    std::int64_t nodes = 0;
    Score parent{};        // bound of the node that is expanded
    bool stopped = false;  // the last child is a node that could not be expanded

   private:
    BranchAndBound& search_;
    const Snapshot* frozen_;
  };

  static int hardware_threads() {
    return static_cast<int>(
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  }

  /// Lower bound on all solutions but the incumbent.
  [[nodiscard]] Score lower_bound() const { return std::max(open_.lower_bound(), options_.floor); }

  /// The greatest bound with which a node is still expanded.
  [[nodiscard]] Score cutoff() const {
    Score cost = incumbent_.cost();
    if (!kFindsFirst && cost < Score::infinity()) {
      cost = Score(std::nextafter(cost.in_base_units(), 0.0));
    }
    return std::min(cost, options_.cutoff);
  }

  /// Runs task(0) .. task(count - 1) in the arena and waits for them.
  template <class Task>
  static void run_tasks(std::size_t count, const Task& task) {
    if (count == 1) return task(0);
    tbb::task_group group;
    hand_over(&group);
    for (std::size_t i = 0; i < count; ++i) {
      group.run([i, &task, &group]() DFSEARCH_TASK {
        take_over(&group);
        task(i);
        hand_over(&group);
      });
    }
    group.wait();  // throws the exception of a task
    take_over(&group);
  }

  /// Whether `a` is kept rather than `b` if both have the same cost.
  bool precedes([[maybe_unused]] const Solution& a, [[maybe_unused]] const Solution& b) const {
    if constexpr (kFindsFirst) return problem_.precedes(a, b);
    return false;
  }

  bool offer_quietly(Score cost, Solution&& solution, char found_by) {
    return incumbent_.offer(
        cost, std::move(solution), found_by,
        [this](const Solution& a, const Solution& b) { return precedes(a, b); });
  }

  void offer(Solution&& solution, char found_by) {
    const Score cost = problem_.cost(solution);
    if (cost > options_.cutoff || !offer_quietly(cost, std::move(solution), found_by)) return;
    incumbents_.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(improvement_mutex_);
    // Another worker may have reported a better solution meanwhile.
    if (!(cost < best_cost_)) return;
    // The first thread to enter reports the best of several waiting improvements; the others report
    // nothing.
    const auto best = incumbent_.solution();
    best_cost_ = problem_.cost(*best);
    best_incumbent_ = elapsed();
    first_incumbent_ = std::min(first_incumbent_, best_incumbent_);
    if (!on_incumbent_) return;
    Progress now = progress();
    now.incumbent = best_cost_;
    now.lower_bound = std::min(now.lower_bound, now.incumbent);
    on_incumbent_(now, *best);
  }

  [[nodiscard]] bool useless(Score bound, [[maybe_unused]] const Node& node,
                             const Sink& sink) const {
    const Score cutoff = sink.cutoff();
    if (bound > cutoff || bound == Score::infinity()) return true;
    if constexpr (kFindsFirst) {
      if (bound < cutoff) return false;
      const auto solution = sink.incumbent();
      // Another thread may have improved the incumbent since: then bound > cost.
      return solution && !(problem_.cost(*solution) > bound) && !problem_.before(node, *solution);
    }
    return false;
  }

  void check([[maybe_unused]] Score bound, [[maybe_unused]] const Node& node) const {
#ifdef DFSEARCH_CHECKS
    if constexpr (CheckableProblem<P>) {
      if (debug_solution_ && bound > problem_.cost(*debug_solution_) &&
          problem_.contains(node, *debug_solution_)) {
        throw InternalError("a node that holds the solution to check against is bounded above it");
      }
    }
#endif
  }

  /// If the deadline ends the expansion, the node becomes its own only child.
  void expand(Entry&& entry, Sink& sink) {
    if (useless(entry.bound, entry.node, sink)) {
      ++sink.pruned;
      return;
    }
    const std::size_t before = sink.children.size();
    sink.parent = entry.bound;
    try {
      problem_.branch(entry.node, sink);
    } catch (const Stopped&) {
      sink.children.erase(sink.children.begin() + static_cast<std::ptrdiff_t>(before),
                          sink.children.end());
      sink.children.push_back(std::move(entry));
      sink.stopped = true;
      stop_by_deadline();
      return;
    }
    ++sink.nodes;
    // The best child last: a dive takes it first.
    std::stable_sort(sink.children.begin() + static_cast<std::ptrdiff_t>(before),
                     sink.children.end(),
                     [](const Entry& a, const Entry& b) { return a.bound > b.bound; });
    if (!sink.is_frozen()) learn(entry.node, sink);
  }

  /// Runs the slices of work that are due at the node.
  void learn([[maybe_unused]] const Node& node, [[maybe_unused]] Sink& sink) {
    if constexpr (LearningProblem<P>) {
      std::vector<typename P::Slice> slices;
      problem_.claim_slices(node, slices);
      for (const auto& slice : slices) {
        run(slice, sink);
        problem_.publish(slice);
      }
    }
  }
  template <class Slice>
  void run(const Slice& slice, Sink& sink) {
    try {
      problem_.run(slice, sink);
    } catch (const Stopped&) {
      stop_by_deadline();
    }
  }

  [[nodiscard]] MemoryCharge charge(const Node& node) const {
    if (options_.memory == nullptr) return {};
    std::size_t bytes = sizeof(Entry) + 2 * kAllocation;
    if constexpr (SizedProblem<P>) bytes += problem_.heap_bytes(node);
    return {options_.memory, bytes};
  }
  /// Whether there are enough open nodes, or no memory for more.
  [[nodiscard]] bool is_full() const {
    return open_.size() > options_.open_limit ||
           (options_.memory != nullptr && options_.memory->is_tight());
  }

  void admit_children(Sink& sink) {
    const auto dominated =
        std::remove_if(sink.children.begin(), sink.children.end(),
                       [this](const Entry& entry) { return !problem_.admit(entry.node); });
    dominated_.fetch_add(sink.children.end() - dominated, std::memory_order_relaxed);
    sink.children.erase(dominated, sink.children.end());
  }

  void count(Sink& sink) {
    nodes_.fetch_add(std::exchange(sink.nodes, 0), std::memory_order_relaxed);
    pruned_.fetch_add(std::exchange(sink.pruned, 0), std::memory_order_relaxed);
  }

  /// If the bound of the node, which was the least open one, is above the cutoff: drops all open
  /// nodes, unless a worker has handed in a node of a lesser bound since, and returns true.
  bool drop_all_from(const Entry& least) {
    const Score limit = cutoff();  // the cutoff never rises
    if (!(least.bound > limit)) return false;
    pruned_.fetch_add(1 + open_.discard_above(limit), std::memory_order_relaxed);
    return true;
  }

  /// Drops the node if results of the techniques make it useless; returns true if it was dropped.
  bool drop_outdated([[maybe_unused]] const Node& node) {
    if constexpr (LearningProblem<P>) {
      const Score bound = problem_.bound_now(node);
      check(bound, node);
      if (!(bound > cutoff())) return false;
      pruned_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  void work(int worker) {
    try {
      Sink sink(*this);
      while (auto entry = open_.exchange(worker, sink.children)) {
        if (must_stop()) {
          sink.children.push_back(std::move(*entry));
          open_.close();
          continue;
        }
        if (drop_all_from(*entry) || drop_outdated(entry->node)) continue;
        expand(std::move(*entry), sink);
        admit_children(sink);
        count(sink);
        if (is_full()) finish_subtree(sink);
      }
    } catch (...) {
      open_.close();
      throw;
    }
  }

  /// Expands nodes until none is left, a limit is met or a checkpoint is due.
  void run_workers() {
    if (options_.deterministic) return DeterministicRounds(*this).run();
    run_tasks(static_cast<std::size_t>(workers_),
              [this](std::size_t worker) { work(static_cast<int>(worker)); });
  }

  /// Expands nodes on this thread alone.  Most searches end here, before TBB would have loaded its
  /// libraries and started its threads.
  void expand_alone() {
    Sink sink(*this);
    while (elapsed() < kAlone && !must_stop()) {
      auto entry = open_.pop();
      if (!entry) return;
      if (!drop_all_from(*entry) && !drop_outdated(entry->node)) {
        expand(std::move(*entry), sink);
        admit_children(sink);
        count(sink);
      }
      open_.push(sink.children);
      open_.release();
    }
  }

  /// Expands depth first below the children in the sink, until the queue has room again.
  void finish_subtree(Sink& sink) {
    std::vector<Entry> stack;
    do {
      std::move(sink.children.begin(), sink.children.end(), std::back_inserter(stack));
      sink.children.clear();
      if (stack.empty()) return;
      Entry deepest = std::move(stack.back());
      stack.pop_back();
      expand(std::move(deepest), sink);
      admit_children(sink);
      count(sink);
    } while (is_full() && !must_stop());
    std::move(sink.children.begin(), sink.children.end(), std::back_inserter(stack));
    sink.children = std::move(stack);
  }

  [[nodiscard]] Seconds elapsed() const {
    return Seconds(std::chrono::duration<double>(WallClock::now() - start_).count());
  }

  void stop_by_deadline() {
    const StopReason reason = stop_reason(options_.limits.deadline);
    stop(reason == StopReason::None ? StopReason::Time : reason);
  }

  void stop(StopReason reason) {
    StopReason none = StopReason::None;
    stopped_by_.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  }

  /// The search is over: a limit is reached or the gap is closed far enough.
  [[nodiscard]] bool has_ended() const {
    return gap_closed_.load(std::memory_order_relaxed) ||
           stopped_by_.load(std::memory_order_relaxed) != StopReason::None;
  }

  [[nodiscard]] bool gap_is_closed() const {
    const Score cost = incumbent_.cost();
    if (cost == Score::infinity()) return false;
    if (!kFindsFirst && cost <= options_.floor) return true;
    return options_.limits.gap > 0.0 && relative_gap(cost, lower_bound()) <= options_.limits.gap;
  }

  /// True once the workers are to hand in their nodes, for good or for a
  /// checkpoint.
  bool must_stop() {
    const Limits& limits = options_.limits;
    if (nodes_.load(std::memory_order_relaxed) >= limits.nodes) {
      stop(StopReason::Nodes);
    } else if (const StopReason reason = stop_reason(limits.deadline); reason != StopReason::None) {
      stop(reason);
    } else if (gap_is_closed()) {
      gap_closed_.store(true, std::memory_order_relaxed);
    }
    return has_ended() || (on_checkpoint_ && elapsed() >= checkpoint_due_);
  }

  /// Shows the open nodes to the caller; the workers may go on afterwards.
  void show_checkpoint() {
    const Seconds begin = elapsed();
    std::vector<Entry> entries = open_.take_all();
    on_checkpoint_(entries);
    open_.put_back(std::move(entries));
    const Seconds end = elapsed();
    // Checkpoints take at most a quarter of the time of a young search.
    const Seconds pause = std::min(options_.checkpoint_interval, 0.25 * end);
    checkpoint_due_ = end + std::max(pause, 19.0 * (end - begin));
  }

  const P& problem_;
  const BranchAndBoundOptions options_;
  const int workers_;
  const WallClock::time_point start_ = WallClock::now();
  OpenNodes<Node> open_;
  Incumbent<Solution> incumbent_;
  std::shared_ptr<const Solution> debug_solution_;  // null: no check
  // Counters and flags: any worker adds or sets, relaxed; the exact values matter only after the
  // end of the arena, which synchronises the workers.
  std::atomic<std::int64_t> nodes_{0};
  std::atomic<std::int64_t> pruned_{0};
  std::atomic<std::int64_t> dominated_{0};
  std::atomic<std::int64_t> incumbents_{0};
  std::atomic<StopReason> stopped_by_{StopReason::None};
  std::atomic<bool> gap_closed_{false};
  bool resumed_ = false;                                    // written before `run`
  std::function<void(std::vector<Entry>&)> on_checkpoint_;  // likewise
  std::function<void()> on_round_;                          // likewise
  Seconds checkpoint_due_{};                                // written while no worker works
  std::mutex improvement_mutex_;                            // guards the members below
  std::function<void(const Progress&, const Solution&)> on_incumbent_;
  Score best_cost_ = Score::infinity();
  Seconds first_incumbent_ = Seconds::infinity();
  Seconds best_incumbent_ = Seconds::infinity();
};

}  // namespace dfsearch
