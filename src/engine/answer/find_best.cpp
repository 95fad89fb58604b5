#include "engine/answer/find_best.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "model/machine/network_choices.hpp"

namespace dfsearch {
namespace {

/// Closes the partitions of a node again, one after the other, with the functions that the
/// search closes them with; partitions that nodes share once.  Refers to the tables and to the
/// partitions.  Used by one thread.
class FusionReplay {
 public:
  explicit FusionReplay(const FusionTables& tables)
      : tables_(tables), tree_(tables), rules_(tables), root_(tree_.root()) {}

  /// The first value of the node that is impossible or differs from the replayed partitions, the
  /// bound aside; nothing if all values are right.  Requires sets over the kernels of the tables.
  [[nodiscard]] std::optional<std::string> wrong_in(const FusionNode& node);

 private:
  using Wrong = std::optional<std::string>;
  Wrong close(const ClosedPartition& partition, FusionNode& node) const;
  Wrong check_members(const KernelSet& kernels, const FusionNode& node) const;
  Wrong check_opened(const FusionNode& node) const;
  [[nodiscard]] const std::string& name(std::size_t position) const;

  const FusionTables& tables_;
  FusionTree tree_;
  PartitionRules rules_;
  const FusionNode root_;
  // The node after the partitions up to one; `closed` is not filled in.
  std::unordered_map<const ClosedPartition*, FusionNode> after_;
};

std::string differs(const std::string& what, std::int64_t found, std::int64_t expected) {
  return what + " is " + std::to_string(found) + ", expected " + std::to_string(expected);
}

std::optional<std::string> FusionReplay::wrong_in(const FusionNode& node) {
  std::vector<const ClosedPartition*> chain;
  for (auto closed = node.closed.get(); closed != nullptr && !after_.contains(closed);
       closed = closed->previous.get()) {
    chain.push_back(closed);
  }
  for (; !chain.empty(); chain.pop_back()) {
    const ClosedPartition& closed = *chain.back();
    FusionNode next = closed.previous ? after_.at(closed.previous.get()) : root_;
    if (auto wrong = close(closed, next)) {
      return "partition " + std::to_string(closed.index) + " " + *wrong;
    }
    after_.emplace(&closed, std::move(next));
  }
  const FusionNode& right = node.closed ? after_.at(node.closed.get()) : root_;
  if (tables_.least_partitions(tree_.rest(right)) == 0) return "nothing is left to do";
  if (!(node.done == right.done)) return "its finished kernels are not those of its partitions";
  if (node.spent != right.spent) return differs("its time so far", node.spent, right.spent);
  if (node.used != right.used) return differs("its number of partitions", node.used, right.used);
  if (node.next_index != right.next_index) {
    return differs("its next partition", node.next_index, right.next_index);
  }
  return node.opened ? check_opened(node) : std::nullopt;
}

/// Adds the partition to the node if it continues the node; else returns the reason.
FusionReplay::Wrong FusionReplay::close(const ClosedPartition& partition, FusionNode& node) const {
  const KernelSet kernels = partition.kernels.as_set(tables_.size());
  if (auto wrong = check_members(kernels, node)) return wrong;
  if (partition.kernels.size() == 0) return "has no kernel";
  const auto index = rules_.index_for(kernels, node.next_index, rules_.unplaced(node.done));
  if (!index) return "has kernels that may share no partition now";
  if (*index != partition.index) return differs("has a wrong index: it", partition.index, *index);
  OpenPartition open(tables_, node.done);
  bool fits = true;
  for (const std::uint32_t p : partition.kernels) {
    fits = fits && open.fits(p);
    open.put_in(p);
  }
  const bool escapes =
      partition.kernels.size() == 1 && tables_.kernel(*partition.kernels.begin()).escapes;
  if (!fits && !escapes) return "does not fit the chip";
  if (!open.fits_in_memory()) return "leaves more than the memory holds";
  const Ticks time = open.time(kNever - 1);
  if (time >= kNever) return "takes for ever";
  node.done |= kernels;
  node.spent += time;
  node.next_index = partition.index + 1;
  ++node.used;
  return std::nullopt;
}

/// Checks that the kernels and those done before form an order ideal of the tensors.
FusionReplay::Wrong FusionReplay::check_members(const KernelSet& kernels,
                                                const FusionNode& node) const {
  const DataflowGraph& graph = tables_.problem().workload.graph;
  Wrong wrong;
  kernels.for_each([&](std::size_t p) {
    if (node.done.contains(p)) wrong = "has " + name(p) + " once more";
    for (const TensorId t : graph.inputs(tables_.id(p))) {
      const std::size_t from = tables_.order().position(graph.tensor(t).from);
      if (!node.done.contains(from) && !kernels.contains(from)) {
        wrong = "has " + name(p) + " before its producer " + name(from);
      }
    }
  });
  return wrong;
}

FusionReplay::Wrong FusionReplay::check_opened(const FusionNode& node) const {
  const FusionNode::Opened& opened = *node.opened;
  const auto slots = rules_.slots(node.next_index, rules_.unplaced(node.done));
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [&](const PartitionSlot& s) { return s.index == opened.index; });
  if (slot == slots.end()) {
    return "its open partition has the index " + std::to_string(opened.index) +
           ", which it may not have";
  }
  OpenPartition open(tables_, node.done);
  const KernelSet inside = opened.inside(tables_.size());
  const KernelSet outside = opened.outside(tables_.size());
  Wrong wrong;
  inside.for_each([&](std::size_t p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (outside.contains(p)) wrong = name(p) + " is inside and outside at once";
    if (!(kernel.backward ? slot->backward : slot->forward) ||
        (kernel.pin >= 0 && kernel.pin != slot->index)) {
      wrong = name(p) + " may not be in it";
    }
    if (!open.fits(p)) wrong = name(p) + " does not fit beside the others";
    open.put_in(p);
  });
  outside.for_each([&](std::size_t p) {
    if (node.done.contains(p)) wrong = name(p) + " is outside and finished at once";
  });
  if (!wrong) wrong = check_members(inside, node);
  if (wrong) *wrong = "its open partition: " + *wrong;
  return wrong;
}

const std::string& FusionReplay::name(std::size_t position) const {
  return tables_.problem().workload.graph.kernel(tables_.id(position)).name;
}

using Node = MappingProblem::Node;

class Restoration {
 public:
  explicit Restoration(const MappingProblem& problem) : problem_(problem) {}

  /// Checks a node whose tables are not known yet.
  [[nodiscard]] std::optional<std::string> wrong_decision_in(const Node& node) {
    const std::optional<std::size_t> network =
        node.point ? std::optional(node.point->network) : node.network;
    if (!network) return std::nullopt;
    if (*network >= problem_.networks().size() ||
        problem_.excludes(problem_.networks()[*network])) {
      return "its network is none of those to choose from";
    }
    if (!node.point) return std::nullopt;
    const std::vector<OuterPoint>& points = points_of(*network);
    if (std::find(points.begin(), points.end(), *node.point) == points.end()) {
      return "its tile or micro-batch is none of those to choose from";
    }
    return node.sharding ? wrong_loop_in(node) : std::nullopt;
  }

  /// Restores the bound and the fusion of a node that has its tables.
  void restore(Node& node) {
    if (!node.network && !node.point) node.bound = Score{};
    if (node.network && node.bound > Score{}) {
      node.bound = Score::infinity();
      for (const OuterPoint point : points_of(*node.network)) {
        node.bound = std::min(node.bound, bound_of(point));
      }
    }
    if (node.point) restore_fusion(node);
  }

  [[nodiscard]] std::optional<std::string> wrong_fusion_in(const Node& node) {
    DFSEARCH_ASSERT(node.context);
    auto& replay = replays_[node.context.get()];
    if (!replay) replay = std::make_unique<FusionReplay>(node.context->tables);
    return replay->wrong_in(node.fusion);
  }

 private:
  [[nodiscard]] std::optional<std::string> wrong_loop_in(const Node& node) const {
    const LoopSets all = problem_.loops_left(node.point->network, nullptr);
    const bool begun = node.fusion.done.end() != 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (const LoopPair loop : (*node.sharding)[k]) {
        if (!all[k].contains(loop)) return "a kernel is sharded on a loop that it may not be";
      }
      if (begun && (*node.sharding)[k].size() != 1) return "a loop of its fusion is not decided";
    }
    return std::nullopt;
  }

  void restore_fusion(Node& node) {
    node.bound = bound_of(*node.point);
    if (!node.context) return;
    const FusionContext& context = *node.context;
    FusionNode& fusion = node.fusion;
    fusion.bound = context.search.bound_anew(fusion, nullptr);
    node.bound = std::max(node.bound, context.score(fusion.bound));
  }

  Score bound_of(OuterPoint point) {
    const auto [place, is_new] = bounds_.try_emplace(point);
    if (is_new) place->second = problem_.point_bound(point);
    return place->second;
  }

  const std::vector<OuterPoint>& points_of(std::size_t network) {
    std::vector<OuterPoint>& points = points_[network];
    if (points.empty()) points = outer_points(problem_.problem(), network);
    return points;
  }

  const MappingProblem& problem_;
  std::map<std::size_t, std::vector<OuterPoint>> points_;
  std::map<OuterPoint, Score> bounds_;
  std::unordered_map<const FusionContext*, std::unique_ptr<FusionReplay>> replays_;
};

void refuse(std::size_t number, const std::optional<std::string>& wrong) {
  if (!wrong) return;
  throw InputError("the checkpoint is damaged: open node " + std::to_string(number) + ": " +
                   *wrong);
}

/// Turns the entries of a checkpoint into nodes of a tree over `problem`.  A checksum detects
/// accidents of a disk but not false nodes: a partial fusion with a wrong time would end in a
/// mapping of a wrong cost, and a bound that is too high would lose the optimum.  Every partial
/// fusion is therefore replayed, and InputError names the difference.  Bounds are not read but
/// derived again, so they may be lower than the bounds of the search that wrote them.  Throws
/// Stopped by the deadline of the problem; the nodes are unusable then.
void restore_nodes(const MappingProblem& problem, std::vector<SearchState::Entry>& entries) {
  Restoration restoration(problem);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    problem.check_deadline();
    refuse(i + 1, restoration.wrong_decision_in(entries[i].node));
  }
  problem.attach_contexts(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Node& node = entries[i].node;
    problem.check_deadline();
    if (node.context) refuse(i + 1, restoration.wrong_fusion_in(node));
    restoration.restore(node);
    entries[i].bound = node.bound;
  }
}

static_assert(SearchProblem<MappingProblem>);
using Tree = BranchAndBound<MappingProblem>;

class BestSearch {
 public:
  BestSearch(const MappingProblem& problem, const SearchOptions& options, const BestEffort& effort,
             SearchMonitor& monitor, SearchState& state)
      : problem_(problem),
        options_(options),
        effort_(effort),
        monitor_(monitor),
        state_(state),
        before_(state.stats) {}

  BestAnswer run(const std::function<void()>& checkpoint) {
    Tree tree(problem_, {.limits = effort_.limits,
                         .threads = options_.threads,
                         .deterministic = effort_.deterministic,
                         .checkpoint_interval = options_.checkpoint_interval,
                         .floor = state_.floor,
                         .memory = effort_.memory});
    tree.on_incumbent([this](const Progress& progress, const MappingSolution& solution) {
      if (!options_.on_incumbent) return;
      monitor_.tell(progress, [&](const Progress& total) {
        options_.on_incumbent(total, problem_.mapping(solution));
      });
    });
    tree.on_round([this] { monitor_.after_round(); });
    const Watched watched(
        monitor_, [&tree] { return tree.progress(); }, effort_.rank, before_.nodes);
    try {
      start(tree);
    } catch (const Stopped&) {
      return as_resumed();
    }
    if (checkpoint) {
      tree.on_checkpoint([&](std::vector<Tree::Entry>& open) {
        keep(tree.result());
        state_.open.swap(open);
        checkpoint();
        state_.open.swap(open);
      });
    }
    const auto result = tree.run();
    keep(result);
    BestAnswer found{.solution = result.solution,
                     .lower_bound = result.lower_bound,
                     .stopped_by = result.stopped_by};
    if (result.solution && result.stopped_by != StopReason::None) bound_open(tree, found);
    // Sorting many nodes takes long, and only a checkpoint needs them.
    if (checkpoint) {
      state_.open = tree.take_open();
    } else {
      found.left = tree.leave_open();
    }
    return found;
  }

 private:
  static void bound_open(const Tree& tree, BestAnswer& found) {
    const OuterPoint point = found.solution->point;
    const Score cost = found.solution->cost;
    tree.for_each_open([&](Score bound, const Tree::Entry& entry) {
      // Most nodes lower neither, and reading them would take long.
      if (bound >= cost || bound >= std::max(found.open_at_point, found.open_elsewhere)) return;
      Score& least = entry.node.point == point ? found.open_at_point : found.open_elsewhere;
      least = std::min(least, bound);
    });
  }

  /// Gives the tree its first incumbents and open nodes.
  void start(Tree& tree) {
    if (options_.hint) {
      if (auto hint = problem_.solution(*options_.hint)) tree.start_from(std::move(*hint), 'H');
    }
    if (options_.debug_solution) {
      if (auto known = problem_.solution(*options_.debug_solution)) {
        tree.check_against(std::move(*known));
      }
    }
    if (state_.incumbent) {
      // Costed anew, since the cost in the file may be wrong.
      auto incumbent = problem_.solution(problem_.mapping(*state_.incumbent));
      if (!incumbent) throw InputError("a mapping of the checkpoint does not fit the problem");
      if (incumbent->cost < state_.floor) {
        throw InputError("the checkpoint is damaged: a mapping costs less than a bound says");
      }
      tree.resume_from(std::move(*incumbent), state_.found_by);
    }
    if (state_.begun) {
      restore_nodes(problem_, state_.open);
      tree.resume_from(std::exchange(state_.open, {}));
    }
  }

  /// The contents of the state, without a search.
  [[nodiscard]] BestAnswer as_resumed() const {
    BestAnswer found{.lower_bound = least_open_bound(state_),
                     .stopped_by = stop_reason(effort_.limits.deadline),
                     .state_is_lost = true};
    if (!state_.incumbent) return found;
    // Of a mapping that was read its cost is not known yet.
    if (auto solution = problem_.solution(problem_.mapping(*state_.incumbent))) {
      found.lower_bound = std::min(found.lower_bound, solution->cost);
      found.solution = std::make_shared<const MappingSolution>(std::move(*solution));
    }
    return found;
  }

  /// Brings the state up to date, the open nodes aside.
  void keep(const BranchAndBoundResult<MappingSolution>& result) {
    state_.begun = true;
    if (result.lower_bound < Score::infinity()) {
      state_.floor = std::max(state_.floor, result.lower_bound);
    }
    state_.found_by = result.found_by;
    if (result.solution) state_.incumbent = *result.solution;
    SearchStats& stats = state_.stats;
    stats = before_;
    stats.add_counts(result.stats);
    SearchStats of_problem;
    problem_.add_stats(of_problem);
    stats.add_counts(of_problem);
    stats.threads = std::max(stats.threads, result.stats.threads);
    stats.time = monitor_.total_time();
    if (effort_.rank > 1) return;
    stats.proof_nodes += result.stats.nodes;
    stats.proof_time += result.stats.time;
    if (result.stats.best_incumbent < Seconds::infinity()) {
      const Seconds begin = monitor_.total_time() - result.stats.time;
      stats.first_incumbent = std::min(stats.first_incumbent, begin + result.stats.first_incumbent);
      stats.best_incumbent = begin + result.stats.best_incumbent;
    }
  }

  const MappingProblem& problem_;
  const SearchOptions& options_;
  const BestEffort& effort_;
  SearchMonitor& monitor_;
  SearchState& state_;
  const SearchStats before_;
};

}  // namespace

BestAnswer find_best(const MappingProblem& problem, const SearchOptions& options,
                     const BestEffort& effort, SearchMonitor& monitor, SearchState& state,
                     const std::function<void()>& checkpoint) {
  return BestSearch(problem, options, effort, monitor, state).run(checkpoint);
}

Mapping mapping_of(const Problem& problem, const MappingSolution& solution) {
  const std::vector<NetworkChoice> networks = network_choices(problem);
  if (solution.point.network >= networks.size()) {
    throw InputError("a mapping of the checkpoint does not fit the problem");
  }
  return {.network = networks[solution.point.network],
          .micro_batch = solution.point.micro_batch,
          .tile = solution.point.tile,
          .sharding = solution.sharding,
          .partition = solution.fusion.partition,
          .cores = {}};
}

Score least_open_bound(const SearchState& state) {
  Score least = state.begun ? Score::infinity() : Score{};
  for (const SearchState::Entry& open : state.open) least = std::min(least, open.bound);
  return std::max(least, state.floor);
}

}  // namespace dfsearch
