// A mapping onto any chip of a box takes at least as long as the best one onto the box's
// optimistic chip, but for roundings: the product of wires and frequency is constant on paper
// where wires run at their least voltage, and ticks depend on the clock.  Bounds are divided by
// 1 + 1e-11, far more than these are, so that no box is dropped that holds the answer; answers
// and ties are compared as they are.
//
// Before a box is halved, both halves along every share are bounded.  A half that holds no
// answer is cut off, which is most of the work: what a part needs at least is found so, and
// what that leaves for the others.  Then the box is halved along the share whose better half
// has the greatest bound.
//
// Of every box the point in its middle is tried, which gives good splits early.  Many splits
// give one machine, since things are counted in whole numbers: machines are remembered.

#include "design/design_problem.hpp"

#include <algorithm>
#include <utility>

#include "engine/solve.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {
namespace {

constexpr double kRoundings = 1.0 + 1e-11;

/// All that a mapping's time depends on of the derived part of a machine.
std::vector<double> key_of(const System& system, bool levels_count) {
  std::vector<double> key = {
      static_cast<double>(system.accelerator.cores), system.accelerator.frequency.in_base_units(),
      system.accelerator.sram.in_base_units(), system.memory.bandwidth.in_base_units(),
      system.memory.capacity.in_base_units()};
  for (const NetworkDimension& dimension : system.network) {
    key.push_back(dimension.bandwidth.in_base_units());
  }
  for (const OnChipLevel& level : levels_count ? system.levels : std::vector<OnChipLevel>{}) {
    key.push_back(level.share.in_base_units());
    key.push_back(level.bandwidth.in_base_units());
  }
  return key;
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

Score DesignProblem::answer(const Problem& machine) const {
  Key key = key_of(machine.system, problem_.execution.levels);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  }
  const SearchResult result = solve(machine, options_);
  if (result.status == SearchStatus::Feasible || result.status == SearchStatus::NoSolution) {
    throw Stopped();
  }
  const Score answer = result.cost ? result.cost->objective : Score::infinity();
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
  const Score objective = answer(*machine);
  if (objective < Score::infinity()) out.solution({point, objective}, 'B');
}

std::optional<DesignProblem::Node> DesignProblem::bounded(SplitBox box, Score parent) const {
  if (!space_.tighten(box)) return std::nullopt;
  std::optional<Problem> machine;
  const bool is_point = box.is_point();
  if (is_point) {
    machine = machine_of(box.least);
  } else {
    const CycleUse cycles =
        problem_.execution.compute_utilization ? CycleUse::AtUtilization : CycleUse::Counted;
    const auto chip = optimistic_chip(design_, space_.split(box.least), space_.split(box.most),
                                      problem_.system.network, cycles);
    if (chip) machine = with_chip(*chip);
  }
  if (!machine) return std::nullopt;
  const Score best = answer(*machine);
  if (best == Score::infinity()) return std::nullopt;
  return Node{.box = std::move(box),
              .bound = std::max(parent, is_point ? best : best / kRoundings)};
}

/// Halves of a box along one share, the lower first; nothing: it holds no answer.
DesignProblem::Halves DesignProblem::halves(const SplitBox& box, std::size_t share, Score parent,
                                            Score cutoff) const {
  const std::int32_t middle = box.least[share] + (box.most[share] - box.least[share]) / 2;
  SplitBox lower = box;
  lower.most[share] = middle;
  SplitBox upper = box;
  upper.least[share] = middle + 1;
  Halves both{bounded(std::move(lower), parent), bounded(std::move(upper), parent)};
  for (std::optional<Node>& half : both) {
    if (half && half->bound > cutoff) half.reset();
  }
  return both;
}

/// Cuts off halves without an answer as long as there are any; the share to halve along, or
/// nothing if all is cut off.
std::optional<std::size_t> DesignProblem::cut(SplitBox& box, Score parent, Score cutoff) const {
  std::optional<std::size_t> best;
  for (bool changed = true; changed;) {
    changed = false;
    best.reset();
    std::pair<Score, Score> most;  // of the better and of the other half
    for (std::size_t i = 0; i < space_.shares().size(); ++i) {
      options_.limits.deadline.check();
      while (box.least[i] < box.most[i]) {
        const Halves both = halves(box, i, parent, cutoff);
        if (!both[0] && !both[1]) return std::nullopt;
        if (both[0] && both[1]) {
          const auto of_this = std::minmax(both[0]->bound, both[1]->bound);
          if (!best || std::pair<Score, Score>(of_this) > most) {
            best = i;
            most = of_this;
          }
          break;
        }
        box = both[0] ? both[0]->box : both[1]->box;
        changed = true;
      }
    }
  }
  return best ? best : std::optional<std::size_t>(0);
}

void DesignProblem::branch(const Node& node, Expansion<Node, Solution>& out) const {
  SplitBox box = node.box;
  if (!space_.tighten(box)) return;
  if (out.cutoff() == Score::infinity()) offer(space_.middle(box), out);
  const std::optional<std::size_t> share = cut(box, node.bound, out.cutoff());
  if (!share) return;
  if (box.is_point()) return offer(box.least, out);
  for (std::optional<Node>& half : halves(box, *share, node.bound, out.cutoff())) {
    if (!half) continue;
    if (half->box.is_point()) {
      offer(half->box.least, out);
      continue;
    }
    offer(space_.middle(half->box), out);
    out.child(std::move(*half));
  }
}

}  // namespace dfsearch
