// The answers one after the other: the best mapping, then the best over the
// parallelisms not met yet, and so on.  All searches share their tables.

#include "engine/solve.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "engine/answer/explanations.hpp"
#include "engine/answer/find_best.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/mapping/mapping_problem.hpp"
#include "engine/mapping/point_bound.hpp"
#include "engine/stages/find_stages.hpp"
#include "engine/tree/search_monitor.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

// Nodes for a next-best parallelism beyond `top`: seconds at most.
constexpr std::int64_t kNextBestNodes = 5'000;
constexpr std::int64_t kStepsPerNextBestNode = 1'000;
// Time to list the scope, beyond the time limit.
constexpr Seconds kTimeForScope{0.05};

/// Costs the winner by the plain model.
void recost(const Problem& problem, const MappingProblem& search, const MappingSolution& winner,
            BestMapping& answer) {
  Mapping mapping = search.mapping(winner);
  auto evaluated = evaluate(problem, mapping);
  const Cost* cost = std::get_if<Cost>(&evaluated);
  if (cost == nullptr || cost->layer_ticks != winner.fusion.time ||
      !(cost->objective == winner.cost)) {
    throw InternalError("the search and the model disagree on the cost of the mapping found");
  }
  mapping.cores = cost->cores;
  answer.mapping = std::move(mapping);
  answer.cost = *cost;
}

SearchStatus status_of(const BestMapping& answer, double gap) {
  if (!answer.cost) {
    return answer.stopped_by == StopReason::None ? SearchStatus::Infeasible
                                                 : SearchStatus::NoSolution;
  }
  return answer.gap <= gap ? SearchStatus::Optimal : SearchStatus::Feasible;
}

class Solver {
 public:
  Solver(const Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        memory_(options.limits.memory),
        nodes_before_(options.resume != nullptr ? options.resume->stats.nodes : 0),
        monitor_(listening(options),
                 options.resume != nullptr ? options.resume->stats : SearchStats{}),
        search_(problem, options.node_effort, options.bounds, allowance()),
        parallelisms_(count_parallelisms()) {
    if (options.top < 1) {
      throw InputError("top: expected at least 1 answer, got " + std::to_string(options.top));
    }
    require_network(search_.networks());
    for (const NetworkChoice& network : search_.networks()) {
      if (!(step_time(problem, network, 1).weight > 0.0)) {
        throw InputError(
            "objective: cost and power efficiency need a machine with a price or power above 0");
      }
    }
    // Last, so that a constructor that throws has not used the state up.
    if (options.resume != nullptr) state_ = std::move(*options.resume);
  }

  SearchResult run() {
    take_finished();
    while (rank() <= options_.top && search_next()) {
    }
    if (!state_is_lost_) report_checkpoint();
    SearchResult result = answers();
    if (options_.next_best && options_.top == 1 && result.status == SearchStatus::Optimal) {
      try {
        add_next_best(result);
      } catch (const Stopped&) {
        // The second answer is optional; it stays unknown.
      }
    }
    result.scope = scope_of(problem_, search_.networks());
    if (options_.hint) result.hint = search_.ruled_out(*options_.hint);
    result.parallelisms = parallelisms_;
    result.bounds = options_.bounds;
    result.stats = state_.stats;
    result.memory_limit = memory_.limit();
    if (result.status == SearchStatus::Infeasible) {
      explain(result);
    }
    if (options_.beyond_scope && !result.scope.empty()) look_beyond(result);
    result.stats.time = monitor_.total_time();
    result.memory_used = memory_.most();
    result.efforts = efforts_.sums();
    monitor_.stop();
    result.callback_error = monitor_.callback_error();
    return result;
  }

 private:
  [[nodiscard]] Allowance allowance() {
    return {.deadline = options_.limits.deadline, .memory = &memory_, .efforts = &efforts_};
  }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(answers_.size()) + 1; }

  void report_checkpoint() {
    if (!options_.on_checkpoint) return;
    monitor_.call_unlocked([this] { options_.on_checkpoint(state_); });
  }

  /// Compares the proved answer of the scope with mappings outside the scope.
  void look_beyond(SearchResult& result) {
    if (problem_.sharding == ShardingChoice::Joint) return;
    if (result.status != SearchStatus::Optimal && result.status != SearchStatus::Infeasible) return;
    const Mapping* known = result.mapping ? &*result.mapping : nullptr;
    try {
      result.beyond_scope =
          search_beyond_scope(problem_, known, options_.limits.nodes, allowance());
    } catch (const Stopped&) {
      // Mappings outside the scope are optional; they stay unknown.
    }
  }

  void explain(SearchResult& result) {
    InfeasibilityReason why;
    try {
      why = why_infeasible(problem_, with_all_bounds(), allowance());
      result.infeasible = why.reason;
    } catch (const Stopped&) {
      result.explained = false;
      return;
    }
    if (!options_.find_changes) return;
    FeasibleChanges changes = feasible_changes(problem_, allowance());
    result.changes = std::move(changes.list);
    result.explained = changes.complete;
    // A search may have found the exact need.
    Infeasible& reason = *result.infeasible;
    if (!why.needed_is_of_one_mapping) return;
    for (const FeasibleChange& change : result.changes) {
      if (change.what != Raised::Memory || !change.is_exact()) continue;
      reason.needed = reason.available + (change.enough - change.from);
    }
  }

  /// Takes the answers of an earlier run.  An answer whose gap is larger than this run allows is
  /// searched again, from its mapping.
  void take_finished() {
    for (std::size_t i = 0; i < state_.finished.size(); ++i) {
      const SearchState::Finished old = state_.finished[i];
      auto solution = search_.solution(search_.mapping(old.solution));
      if (!solution) throw InputError("a mapping of the checkpoint does not fit the problem");
      if (!(old.lower_bound >= Score{} && old.lower_bound <= solution->cost)) {
        throw InputError("the checkpoint is damaged: answer " + std::to_string(i + 1) +
                         " has a bound above its cost");
      }
      if (relative_gap(solution->cost, old.lower_bound) > options_.limits.gap) {
        state_.finished.resize(i);
        begin_tree();
        state_.floor = old.lower_bound;
        state_.incumbent.emplace(std::move(*solution));
        return;
      }
      add_answer({.solution = std::make_shared<const MappingSolution>(std::move(*solution)),
                  .lower_bound = old.lower_bound});
    }
  }

  /// Finds one more answer; returns false if it is the last one to find.
  bool search_next() {
    if (nothing_left()) return false;
    const MappingProblem problem = search_.without(excluded_, options_.node_effort);
    std::function<void()> checkpoint;
    if (options_.on_checkpoint) checkpoint = [this] { report_checkpoint(); };
    left_.reset();
    const BestAnswer found =
        find_best(problem, options_, effort(options_.deterministic), monitor_, state_, checkpoint);
    state_is_lost_ = found.state_is_lost;
    left_ = found.left;
    const std::int64_t of_rank = rank();
    if (!add_answer(found) || of_rank == options_.top) return false;
    if (found.stopped_by != StopReason::None) {
      // A limit ended the search at an allowed gap: a resumed search continues the tree of this
      // answer.
      if (!nothing_left()) answers_.push_back(not_searched(found.stopped_by));
      return false;
    }
    state_.finished.push_back({.solution = *found.solution, .lower_bound = found.lower_bound});
    begin_tree();
    return true;
  }

  /// Stands for the next answer, which was not searched for.
  [[nodiscard]] BestMapping not_searched(StopReason why) const {
    DFSEARCH_ASSERT(!answers_.empty());
    BestMapping next;
    next.status = SearchStatus::NoSolution;
    next.stopped_by = why;
    next.lower_bound = answers_.back().lower_bound;
    return next;
  }

  /// Adds the second answer that a fixed number of nodes finds.
  void add_next_best(SearchResult& result) {
    DFSEARCH_ASSERT(answers_.size() == 1);
    if (nothing_left()) {
      result.alternatives_complete = true;
      return;
    }
    SearchState state;
    state.stats = state_.stats;
    state.floor = answers_.back().lower_bound;
    const MappingProblem problem =
        with_all_bounds().without(excluded_, {.steps = kStepsPerNextBestNode});
    left_.reset();
    BestEffort small = effort(true);
    small.limits.nodes = std::min(small.limits.nodes, kNextBestNodes);
    const BestAnswer found = find_best(problem, options_, small, monitor_, state, nullptr);
    state_.stats = state.stats;
    add_answer(found);
    result.alternatives = std::vector(answers_.begin() + 1, answers_.end());
    result.alternatives_complete = nothing_left();
  }

  /// The problem with all bounds, for searches of a fixed effort, whose result depends on the
  /// bounds.
  const MappingProblem& with_all_bounds() {
    if (options_.bounds.use_all()) return search_;
    if (!whole_) whole_.emplace(problem_, NodeEffort{}, SearchBounds{}, allowance());
    return *whole_;
  }

  [[nodiscard]] BestEffort effort(bool deterministic) {
    BestEffort effort{.rank = static_cast<int>(rank()),
                      .limits = options_.limits,
                      .deterministic = deterministic,
                      .memory = &memory_};
    const std::int64_t spent = state_.stats.nodes - nodes_before_;
    effort.limits.nodes = std::max<std::int64_t>(0, effort.limits.nodes - spent);
    return effort;
  }

  [[nodiscard]] std::optional<Score> root_bound(const MappingSolution& solution) const {
    try {
      return search_.root_bound(solution.point);
    } catch (const Stopped&) {
      return std::nullopt;
    }
  }

  /// Raises the lower bound of a stopped search: open nodes at the point of the mapping may have
  /// bounds below the root bound of this point, which is computed only now.  Mappings in closed
  /// nodes are no better than this one.
  void raise_bound(const BestAnswer& found, BestMapping& answer) const {
    if (found.stopped_by == StopReason::None || found.state_is_lost || !answer.root_bound) return;
    const Score least = std::min({found.solution->cost, found.open_elsewhere,
                                  std::max(found.open_at_point, *answer.root_bound)});
    answer.lower_bound = std::max(answer.lower_bound, least);
  }

  void begin_tree() {
    state_.begun = false;
    state_.open.clear();
    state_.incumbent.reset();
    // The remaining mappings are no better than the last answer.
    state_.floor = answers_.empty() ? Score{} : answers_.back().lower_bound;
    state_.found_by = ' ';
  }

  [[nodiscard]] bool nothing_left() const {
    return complete_ || static_cast<std::int64_t>(excluded_.size()) == parallelisms_;
  }

  [[nodiscard]] std::int64_t count_parallelisms() const {
    std::set<Parallelism> different;
    for (const NetworkChoice& network : search_.networks()) {
      different.insert(parallelism_of(network));
    }
    return static_cast<std::int64_t>(different.size());
  }

  /// Returns true if the answer is optimal within the allowed gap.
  bool add_answer(const BestAnswer& found) {
    BestMapping answer;
    answer.stopped_by = found.stopped_by;
    answer.lower_bound = found.lower_bound;
    if (found.solution) {
      recost(problem_, search_, *found.solution, answer);
      answer.root_bound = root_bound(*found.solution);
      raise_bound(found, answer);
      answer.gap = relative_gap(answer.cost->objective, answer.lower_bound);
      excluded_.push_back(parallelism_of(answer.mapping->network));
    }
    answer.status = status_of(answer, options_.limits.gap);
    if (answer.status == SearchStatus::Infeasible && !answers_.empty()) {
      complete_ = true;
      return false;
    }
    answers_.push_back(std::move(answer));
    return answers_.back().status == SearchStatus::Optimal;
  }

  /// The first `top` answers; a checkpoint may hold more.
  [[nodiscard]] SearchResult answers() const {
    SearchResult result;
    static_cast<BestMapping&>(result) = answers_.front();
    const auto most = static_cast<std::size_t>(options_.top);
    result.alternatives.assign(
        answers_.begin() + 1,
        answers_.begin() + static_cast<std::ptrdiff_t>(std::min(most, answers_.size())));
    result.alternatives_complete = nothing_left() && answers_.size() <= most;
    return result;
  }

  const Problem& problem_;
  const SearchOptions& options_;
  MemoryBudget memory_;  // before all members that are charged to it
  EffortCounters efforts_;
  SearchState state_;
  const std::int64_t nodes_before_;  // by earlier runs
  SearchMonitor monitor_;
  const MappingProblem search_;
  std::optional<MappingProblem> whole_;  // see with_all_bounds
  const std::int64_t parallelisms_;      // to choose from
  std::vector<BestMapping> answers_;
  std::vector<Parallelism> excluded_;  // of the answers
  bool state_is_lost_ = false;         // see BestAnswer
  std::shared_ptr<const void> left_;   // likewise, of the last answer
  bool complete_ = false;              // no further answer exists
};

/// Sets the scope and a bound of all mappings.  If the networks cannot be listed in time, the
/// sharding is assumed to matter.
void bound_within(const Problem& problem, const Deadline& deadline, SearchResult& result) {
  try {
    const std::vector<NetworkChoice> networks = network_choices(problem, deadline);
    result.scope = scope_of(problem, networks);
    if (result.bounds.use(SearchBound::Point) && !networks.empty()) {
      result.lower_bound = least_score(problem, networks, deadline);
    }
  } catch (const Stopped&) {
    if (!result.scope.empty()) return;
    result.scope =
        scope_of(problem, {{{.degree = problem.chips_per_copy(), .strategy = Strategy::Tensor}}});
  }
}

/// Result if the deadline passed before a tree could begin: the answers known beforehand.
SearchResult as_given(const Problem& problem, const SearchOptions& options) {
  SearchResult result;
  result.stopped_by = stop_reason(options.limits.deadline);
  result.bounds = options.bounds;
  bound_within(problem, Deadline().within(kTimeForScope), result);
  result.memory_limit = options.limits.memory;
  std::vector<Mapping> known;
  if (const SearchState* state = options.resume; state != nullptr) {
    result.stats = state->stats;
    if (!state->finished.empty()) {
      result.lower_bound = std::max(result.lower_bound, state->finished.front().lower_bound);
      known.push_back(mapping_of(problem, state->finished.front().solution));
    } else {
      result.lower_bound = std::max(result.lower_bound, least_open_bound(*state));
    }
    if (state->incumbent) known.push_back(mapping_of(problem, *state->incumbent));
  }
  // Whether the hint is in the search space is not known yet, so no bound holds for it.
  if (options.hint && known.empty()) {
    known.push_back(*options.hint);
    result.lower_bound = Score{};
  }
  result.stats.threads = options.threads;
  for (const Mapping& mapping : known) {
    auto evaluated = evaluate(problem, mapping);
    const Cost* cost = std::get_if<Cost>(&evaluated);
    if (cost == nullptr || (result.cost && !(cost->objective < result.cost->objective))) continue;
    result.mapping = mapping;
    result.mapping->cores = cost->cores;
    result.cost = *cost;
  }
  if (!result.cost) {
    // Only a search may report that no node is open.
    if (result.lower_bound == Score::infinity()) result.lower_bound = Score{};
    return result;
  }
  result.lower_bound = std::min(result.lower_bound, result.cost->objective);
  result.gap = relative_gap(result.cost->objective, result.lower_bound);
  result.status = status_of(result, options.limits.gap);
  return result;
}

}  // namespace

SearchResult solve(const Problem& problem, const SearchOptions& options) {
  try {
    if (problem.divides_graph()) {
      SearchResult result = find_stages(problem, options);
      if (result.status == SearchStatus::Infeasible && options.find_changes) {
        FeasibleChanges changes = feasible_changes(problem, {.deadline = options.limits.deadline});
        result.changes = std::move(changes.list);
        result.explained = changes.complete;
      }
      return result;
    }
    const auto solver = std::make_shared<Solver>(problem, options);
    SearchResult result = solver->run();
    result.leftovers = solver;
    return result;
  } catch (const Stopped&) {
    return as_given(problem, options);
  }
}

}  // namespace dfsearch
