// Each requested split has a tree: the best, then the best of the others, and so on.  Trees share
// the answers for machines, so later trees find most answers known.

#include "design/find_split.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/memory_budget.hpp"
#include "design/design_problem.hpp"
#include "engine/solve.hpp"
#include "engine/tree/branch_and_bound.hpp"
#include "engine/tree/search_monitor.hpp"
#include "model/machine/network_choices.hpp"
#include "model/scope.hpp"

namespace dfsearch {
namespace {

using Tree = BranchAndBound<DesignProblem>;
using Solution = DesignProblem::Solution;

constexpr Bytes kLeastInnerMemory{16.0 * 1024 * 1024};

/// Options of the inner searches for mappings: one thread each, no listeners.  They share half of
/// the memory limit; the boxes have the other half.
SearchOptions inner_options(const SearchOptions& options) {
  SearchOptions inner;
  inner.limits.deadline = options.limits.deadline;
  inner.limits.memory =
      std::max(kLeastInnerMemory, 0.5 * options.limits.memory / std::max(options.threads, 1));
  inner.bounds = options.bounds;
  inner.hint = options.hint;
  return inner;
}

SearchStatus status_of(bool found, StopReason stopped_by) {
  const bool stopped = stopped_by != StopReason::None;
  if (found) return stopped ? SearchStatus::Feasible : SearchStatus::Optimal;
  return stopped ? SearchStatus::NoSolution : SearchStatus::Infeasible;
}

class SplitSearch {
 public:
  SplitSearch(const Problem& problem, const ChipDesign& design, const DesignOptions& options)
      : problem_(problem),
        design_(design),
        options_(options),
        inner_(inner_options(options.search)),
        memory_(0.5 * options.search.limits.memory),
        space_(design),
        answers_(inner_, memory_),
        tree_(problem, design, space_, options.search.limits.deadline, answers_),
        state_(options.resume.value_or(SplitState{})),
        monitor_(listening(options.search), state_.stats),
        before_(state_.stats) {}

  DesignResult run() {
    DesignResult result;
    try {
      find_all();
    } catch (const Stopped&) {
      // The deadline passed while a state was read: no answer is known yet.
      const StopReason reason = stop_reason(options_.search.limits.deadline);
      found_.push_back({.stopped_by = reason == StopReason::None ? StopReason::Time : reason});
    }
    monitor_.stop();
    fill(result);
    result.search.scope = scope_of(problem_, network_choices(problem_));
    state_.stats.time = monitor_.total_time();
    if (options_.on_checkpoint && !monitor_.callback_error()) options_.on_checkpoint(state_);
    result.search.callback_error = monitor_.callback_error();
    return result;
  }

 private:
  void find_all();
  bool take_finished(std::size_t rank);
  FoundSplit find_next(int rank);
  void start(Tree& tree);
  void listen(Tree& tree);
  void keep(const BranchAndBoundResult<Solution>& now);
  void fill(DesignResult& result);
  void search_best(DesignResult& result);
  void explain(DesignResult& result) const;

  [[nodiscard]] Chip chip_of(const GridPoint& point) const {
    return derive(design_, space_.split(point), problem_.system.network);
  }
  /// Number of boxes halved in this run, without boxes of the running tree.
  [[nodiscard]] std::int64_t boxes() const { return state_.stats.nodes - before_.nodes; }

  const Problem& problem_;
  const ChipDesign& design_;
  const DesignOptions& options_;
  const SearchOptions inner_;
  MemoryBudget memory_;  // before all members that are charged to it
  const SplitSpace space_;
  MachineAnswers answers_;
  DesignProblem tree_;
  SplitState state_;
  SearchMonitor monitor_;
  const SearchStats before_;  // of earlier runs
  SearchStats trees_;         // of earlier runs and finished trees
  std::vector<FoundSplit> found_;
  std::vector<Solution> solutions_;  // the splits of found_ that have a chip
};

void SplitSearch::find_all() {
  trees_ = before_;
  const auto top = static_cast<std::size_t>(std::max<std::int64_t>(options_.search.top, 1));
  for (std::size_t rank = 0; rank < top; ++rank) {
    if (take_finished(rank)) continue;
    found_.push_back(find_next(static_cast<int>(rank) + 1));
    const FoundSplit& found = found_.back();
    if (!found.chip || found.stopped_by != StopReason::None) return;
    tree_.exclude(solutions_.back().point);
    state_.finished.push_back({solutions_.back().point, found.lower_bound});
    state_.begun = false;
    state_.open.clear();
    state_.incumbent.reset();
  }
}

/// Takes over the answer of an earlier run, unless its gap is larger than this run allows.
bool SplitSearch::take_finished(std::size_t rank) {
  if (rank >= state_.finished.size()) return false;
  const SplitState::Finished& finished = state_.finished[rank];
  auto solution = tree_.solution(finished.point);
  if (!solution) throw InputError("a split of the checkpoint makes no chip that runs anything");
  const Score bound = std::min(finished.lower_bound, solution->objective);
  if (relative_gap(solution->objective, bound) > options_.search.limits.gap) {
    state_.finished.resize(rank);
    state_.begun = false;
    state_.open.clear();
    state_.incumbent = solution->point;
    return false;
  }
  found_.push_back({.status = SearchStatus::Optimal,
                    .chip = chip_of(solution->point),
                    .objective = solution->objective,
                    .lower_bound = bound});
  tree_.exclude(solution->point);
  solutions_.push_back(std::move(*solution));
  return true;
}

FoundSplit SplitSearch::find_next(int rank) {
  const SearchOptions& search = options_.search;
  BranchAndBoundOptions outer;
  outer.limits = search.limits;
  outer.limits.nodes -= std::min(search.limits.nodes, boxes());
  outer.threads = search.threads;
  outer.deterministic = search.deterministic;
  outer.checkpoint_interval = search.checkpoint_interval;
  outer.memory = &memory_;
  Tree tree(tree_, outer);
  start(tree);
  listen(tree);
  const auto found = [&] {
    const Watched watched(
        monitor_, [&tree] { return tree.progress(); }, rank, trees_.nodes);
    return tree.run();
  }();
  keep(found);
  trees_ = state_.stats;
  state_.open.clear();
  for (Tree::Entry& entry : tree.take_open()) state_.open.push_back(std::move(entry.node.box));
  FoundSplit split{.status = status_of(found.solution != nullptr, found.stopped_by),
                   .stopped_by = found.stopped_by,
                   .objective = found.cost,
                   .lower_bound = found.lower_bound};
  if (!found.solution) return split;
  split.chip = chip_of(found.solution->point);
  solutions_.push_back(*found.solution);
  return split;
}

/// Gives the tree the state of an earlier run, with recomputed bounds and costs, or the whole
/// space.
void SplitSearch::start(Tree& tree) {
  Score cutoff = Score::infinity();
  if (state_.incumbent) {
    auto incumbent = tree_.solution(*state_.incumbent);
    if (!incumbent) throw InputError("a split of the checkpoint makes no chip that runs anything");
    cutoff = incumbent->objective;
    tree.resume_from(std::move(*incumbent), 'B');
  }
  if (!state_.begun) state_.open = {space_.all()};
  std::vector<Tree::Entry> entries;
  for (const SplitBox& box : state_.open) {
    auto node = tree_.node(box, cutoff);
    if (!node) continue;
    const Score bound = node->bound;
    entries.push_back({.bound = bound, .sequence = entries.size(), .node = std::move(*node)});
  }
  tree.resume_from(std::move(entries));
}

void SplitSearch::listen(Tree& tree) {
  tree.on_incumbent([this](const Progress& progress, const Solution& solution) {
    if (!options_.on_split) return;
    monitor_.report(progress, [&](const Progress& total) {
      options_.on_split(total, *solution.mapping, chip_of(solution.point));
    });
  });
  tree.on_round([this] { monitor_.after_round(); });
  if (!options_.on_checkpoint) return;
  tree.on_checkpoint([this, &tree](std::vector<Tree::Entry>& open) {
    keep(tree.result());
    state_.open.clear();
    for (const Tree::Entry& entry : open) state_.open.push_back(entry.node.box);
    if (!monitor_.callback_error()) options_.on_checkpoint(state_);
  });
}

/// Keeps the state of the tree, without its open boxes.
void SplitSearch::keep(const BranchAndBoundResult<Solution>& now) {
  state_.begun = true;
  state_.incumbent.reset();
  if (now.solution) state_.incumbent = now.solution->point;
  state_.stats = trees_;
  state_.stats.add_counts(now.stats);
  state_.stats.time = monitor_.total_time();
  // The times of incumbents refer to the best split, which the first tree finds.
  if (!found_.empty()) return;
  const Seconds before = before_.time;
  state_.stats.first_incumbent =
      std::min(before_.first_incumbent, before + now.stats.first_incumbent);
  if (now.stats.best_incumbent < Seconds::infinity()) {
    state_.stats.best_incumbent = before + now.stats.best_incumbent;
  }
}

void SplitSearch::fill(DesignResult& result) {
  const FoundSplit& best = found_.front();
  result.best = found_;
  result.status = best.status;
  result.stopped_by = best.stopped_by;
  result.chip = best.chip;
  result.lower_bound = best.lower_bound;
  result.splits = space_.count();
  result.problem = problem_;
  result.search.status = result.status;
  result.search.stopped_by = result.stopped_by;
  result.search.lower_bound = result.lower_bound;
  if (result.chip) search_best(result);
  if (result.status == SearchStatus::Infeasible) explain(result);
  if (result.chip && options_.find_gains) {
    result.gains = budget_gains(problem_, design_, *result.chip, best.objective, answers_);
  }
  result.boxes = state_.stats.nodes;
  result.machines = answers_.searched();
  SearchStats& stats = result.search.stats;
  stats.nodes = stats.proof_nodes = state_.stats.nodes;
  stats.time = stats.proof_time = monitor_.total_time();
  stats.incumbents = state_.stats.incumbents;
  stats.first_incumbent = state_.stats.first_incumbent;
  stats.best_incumbent = state_.stats.best_incumbent;
  result.search.memory_limit = options_.search.limits.memory;
  result.search.memory_used += memory_.most();
}

/// Searches a mapping onto the best chip; its bound and proof are over all chips.
void SplitSearch::search_best(DesignResult& result) {
  const Solution& best = solutions_.front();
  result.problem = *tree_.machine_of(best.point);
  SearchOptions all = inner_;
  all.threads = options_.search.threads;
  all.deterministic = options_.search.deterministic;
  all.next_best = options_.search.next_best;
  all.hint = *best.mapping;
  // A stopped search returns the hint, so a next-best mapping is not needed.
  if (result.stopped_by != StopReason::None) all.next_best = false;
  result.search = solve(result.problem, all);
  BestMapping& answer = result.search;
  answer.lower_bound = std::min(result.lower_bound, answer.cost->objective);
  answer.gap = relative_gap(answer.cost->objective, answer.lower_bound);
  answer.status = result.status;
  answer.stopped_by = result.stopped_by;
}

/// Explains why nothing fits onto a chip that is at least as good as any that can be built.
void SplitSearch::explain(DesignResult& result) const {
  SplitBox all = space_.all();
  std::ignore = space_.tighten(all);  // an empty box has its shortages below
  const Split most = space_.split(all.most);
  const std::vector<NetworkDimension>& network = problem_.system.network;
  const auto chip =
      optimistic_chip(design_, space_.split(all.least), most, network, CycleUse::Counted);
  if (!chip) {
    result.shortages = derive(design_, most, network).infeasible;
    // Sums are no reason here, since each part has its greatest share.
    std::erase_if(result.shortages, [](const Shortage& shortage) { return !shortage.part; });
    return;
  }
  const std::optional<Problem> machine = machine_with(problem_, design_, *chip);
  if (!machine) return;
  const SearchResult found = solve(*machine, inner_);
  if (found.status == SearchStatus::Infeasible) result.search.infeasible = found.infeasible;
}

// Relative changes below this may be roundings, as ticks depend on the machine (docs/search.md,
// section 14).
constexpr double kRounding = 1e-11;

class WhatIfSearch {
 public:
  WhatIfSearch(const Problem& problem, const ChipDesign& design, const Chip& chip, Score objective,
               MachineAnswers& answers)
      : problem_(problem), design_(design), chip_(chip), objective_(objective), answers_(answers) {
    design_.equations.budget_sums = BudgetSums::Unchecked;
  }

  std::vector<BudgetGain> gains() {
    const Budget& budget = design_.budget;
    const OpenShares open = open_shares(budget, design_.technology);
    each(BudgetClass::DieArea, open.area, chip_.split.area, &Split::area, budget.die);
    each(BudgetClass::Power, open.power, chip_.split.power, &Split::power, budget.total);
    each(BudgetClass::Edge, open.edge, chip_.split.edge, &Split::edge, budget.perimeter());
    if (design_.technology.memory) {
      const Area more = 0.1 * budget.package;
      ChipDesign larger = design_;
      larger.budget.package += more;
      add({.budget = BudgetClass::Package,
           .has = budget.package.in_base_units(),
           .more = more.in_base_units()},
          larger, chip_.split);
    }
    return std::move(gains_);
  }

 private:
  template <class Q>
  void each(BudgetClass budget, const PerComponent<bool>& open, const PerComponent<Q>& has,
            PerComponent<Q> Split::*of, Q total) {
    for (const Component part : kComponents) {
      const bool searched = open[part];
      const Q more = searched ? design_.budget.step.value_or(0.0) * total : 0.1 * has[part];
      if (!(more > Q{})) continue;
      Split split = chip_.split;
      (split.*of)[part] += more;
      add({.budget = budget,
           .part = part,
           .searched = searched,
           .has = has[part].in_base_units(),
           .more = more.in_base_units()},
          design_, split);
    }
  }

  void add(BudgetGain gain, const ChipDesign& design, const Split& split) {
    try {
      if (!stopped_) find(gain, design, split);
    } catch (const Stopped&) {
      stopped_ = true;
    }
    gains_.push_back(gain);
  }

  void find(BudgetGain& gain, const ChipDesign& design, const Split& split) {
    const Chip chip = derive(design, split, problem_.system.network);
    gain.known = WhatIf::NoChip;
    if (!chip.infeasible.empty()) return;
    const auto machine = machine_with(problem_, design, chip);
    if (!machine) return;
    gain.known = WhatIf::Unknown;
    const Score objective = answers_.least(*machine);
    gain.known = objective < Score::infinity() ? WhatIf::Known : WhatIf::NoMapping;
    if (gain.known != WhatIf::Known) return;
    gain.objective = objective;
    gain.change = (objective - objective_) / objective_;
    if (std::abs(gain.change) < kRounding) gain.change = 0.0;
  }

  const Problem& problem_;
  ChipDesign design_;
  const Chip& chip_;
  const Score objective_;
  MachineAnswers& answers_;
  std::vector<BudgetGain> gains_;
  bool stopped_ = false;
};

}  // namespace

DesignResult find_split(const Problem& problem, const ChipDesign& design,
                        const DesignOptions& options) {
  return SplitSearch(problem, design, options).run();
}

std::vector<BudgetGain> budget_gains(const Problem& problem, const ChipDesign& design,
                                     const Chip& chip, Score objective, MachineAnswers& answers) {
  return WhatIfSearch(problem, design, chip, objective, answers).gains();
}

}  // namespace dfsearch
