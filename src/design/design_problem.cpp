// A box is halved along a share of the part that bounds the best mapping onto its optimistic
// chip.  A mapping onto any chip of the box takes at least as long as the best one onto that
// chip, but for roundings: the product of wires and frequency is constant on paper where wires
// run at their least voltage, and ticks depend on the clock.  Bounds are divided by 1 + 1e-11,
// far more than these are, so that no box is dropped that holds the answer; answers and ties are
// compared as they are.
//
// Of every box the point in its middle is tried, which gives good splits early.  Many splits
// give one machine, since things are counted in whole numbers: machines are remembered.

#include "design/design_problem.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/solve.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {
namespace {

constexpr double kRoundings = 1.0 + 1e-11;

/// All that the derived part of a machine is.
std::vector<double> key_of(const System& system) {
  std::vector<double> key = {
      static_cast<double>(system.accelerator.cores), system.accelerator.frequency.in_base_units(),
      system.accelerator.sram.in_base_units(), system.memory.bandwidth.in_base_units(),
      system.memory.capacity.in_base_units()};
  for (const NetworkDimension& dimension : system.network) {
    key.push_back(dimension.bandwidth.in_base_units());
  }
  for (const OnChipLevel& level : system.levels) {
    key.push_back(level.share.in_base_units());
    key.push_back(level.bandwidth.in_base_units());
  }
  return key;
}

/// What most of the layer's time goes to.
Bottleneck longest(const Cost& cost) {
  constexpr std::size_t kBottlenecks = 6;
  std::array<double, kBottlenecks> times{};
  for (const PartitionCost& partition : cost.partitions) {
    times[static_cast<std::size_t>(partition.bound_by)] += partition.time.in_base_units();
  }
  return static_cast<Bottleneck>(std::max_element(times.begin(), times.end()) - times.begin());
}

bool is_part_of(Bottleneck bottleneck, Component part) {
  switch (bottleneck) {
    case Bottleneck::Compute:
      return part == Component::Core;
    case Bottleneck::Memory:
      return part == Component::Memory;
    case Bottleneck::Network:
      return part == Component::Intra || part == Component::Inter;
    case Bottleneck::Registers:
      return part == Component::Registers;
    case Bottleneck::L1:
      return part == Component::L1;
    case Bottleneck::L2:
      return part == Component::L2;
  }
  return false;
}

}  // namespace

DesignProblem::DesignProblem(const Problem& problem, const ChipDesign& design,
                             const SplitSpace& space, const SearchOptions& options)
    : problem_(problem), design_(design), space_(space), options_(options) {}

DesignProblem::Node DesignProblem::root() const { return {.box = space_.all()}; }

std::optional<Problem> DesignProblem::with_chip(const Chip& chip) const {
  Problem machine = problem_;
  put_into(design_, chip, machine.system);
  const bool small_levels =
      problem_.execution.levels && !holds_tiles(machine.system.levels, problem_.workload.word);
  if (small_levels) return std::nullopt;
  return machine;
}

std::optional<Problem> DesignProblem::machine_of(const GridPoint& point) const {
  const Chip chip = derive(design_, space_.split(point), problem_.system.network);
  if (!chip.infeasible.empty()) return std::nullopt;
  return with_chip(chip);
}

MachineAnswer DesignProblem::answer(const Problem& machine) const {
  Key key = key_of(machine.system);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  }
  const SearchResult result = solve(machine, options_);
  if (result.status == SearchStatus::Feasible || result.status == SearchStatus::NoSolution) {
    throw Stopped();
  }
  MachineAnswer answer;
  if (result.cost) answer = {result.cost->objective, longest(*result.cost)};
  const std::lock_guard lock(mutex_);
  answers_.emplace(std::move(key), answer);
  return answer;
}

std::int64_t DesignProblem::machines() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(answers_.size());
}

void DesignProblem::offer(const GridPoint& point, Expansion<Node, Solution>& out) const {
  const std::optional<Problem> machine = machine_of(point);
  if (!machine) return;
  const Score objective = answer(*machine).objective;
  if (objective < Score::infinity()) out.solution({point, objective}, 'B');
}

/// The widest share of what bounds the box, or of all.
std::size_t DesignProblem::share_to_halve(const Node& node) const {
  std::size_t widest = 0;
  std::int32_t most = -1;
  const std::vector<OpenShare>& shares = space_.shares();
  for (const bool bounding : {true, false}) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (bounding && !is_part_of(node.bound_by, shares[i].part)) continue;
      const std::int32_t width = node.box.most[i] - node.box.least[i];
      if (width <= most) continue;
      most = width;
      widest = i;
    }
    if (most > 0) break;
  }
  return widest;
}

void DesignProblem::branch(const Node& node, Expansion<Node, Solution>& out) const {
  SplitBox box = node.box;
  if (!space_.tighten(box)) return;
  if (box.is_point()) return offer(box.least, out);
  const std::size_t i = share_to_halve({.box = box, .bound_by = node.bound_by});
  const std::int32_t middle = box.least[i] + (box.most[i] - box.least[i]) / 2;
  SplitBox upper = box;
  upper.least[i] = middle + 1;
  visit(std::move(upper), node.bound, out);
  box.most[i] = middle;
  visit(std::move(box), node.bound, out);
}

void DesignProblem::visit(SplitBox&& box, Score parent, Expansion<Node, Solution>& out) const {
  if (!space_.tighten(box)) return;
  if (box.is_point()) return offer(box.least, out);
  const CycleUse cycles =
      problem_.execution.compute_utilization ? CycleUse::AtUtilization : CycleUse::Counted;
  const std::optional<Chip> chip = optimistic_chip(
      design_, space_.split(box.least), space_.split(box.most), problem_.system.network, cycles);
  if (!chip) return;
  const std::optional<Problem> machine = with_chip(*chip);
  if (!machine) return;
  const MachineAnswer best = answer(*machine);
  if (best.objective == Score::infinity()) return;
  offer(space_.middle(box), out);
  out.child({.box = std::move(box),
             .bound = std::max(parent, best.objective / kRoundings),
             .bound_by = best.bound_by});
}

}  // namespace dfsearch
