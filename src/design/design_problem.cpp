// A mapping onto any chip of a box takes at least as long as the best one onto the box's optimistic
// chip, except for roundings: the product of wires and frequency is constant only in exact
// arithmetic if wires run at their least voltage, and ticks depend on the clock.  Bounds are
// divided by 1 + 1e-11, far more than these roundings, so that no box with the answer is dropped;
// answers and ties are compared without this factor.
//
// Before a box is halved, both halves along every share are bounded.  A half that holds no answer
// is cut off.  This is most of the work: it finds the least share that each part needs, and thus
// the most that the others may have.  Then the box is halved along the share whose better half has
// the greatest bound.
//
// Bounds need not be exact: the inner search ends as soon as its lower bound proves that the half
// holds no answer, or as soon as a mapping below the cutoff is near the lower bound.
//
// The point in the middle of every box is tried, which gives good splits early.  Many splits give
// the same machine, since a chip has whole numbers of parts, so answers are remembered by machine.

#include "design/design_problem.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

constexpr double kRoundings = 1.0 + 1e-11;

}  // namespace

DesignProblem::DesignProblem(const Problem& problem, const ChipDesign& design,
                             const SplitSpace& space, const Deadline& deadline,
                             MachineAnswers& answers)
    : problem_(problem), design_(design), space_(space), deadline_(deadline), answers_(answers) {}

std::optional<Problem> DesignProblem::machine_of(const GridPoint& point) const {
  const Chip chip = derive(design_, space_.split(point), problem_.system.network);
  if (!chip.infeasible.empty()) return std::nullopt;
  return machine_with(problem_, design_, chip);
}

std::optional<DesignProblem::Solution> DesignProblem::solution(const GridPoint& point) const {
  const std::optional<Problem> machine = machine_of(point);
  if (!machine) return std::nullopt;
  const Score objective = answers_.least(*machine);
  if (objective == Score::infinity()) return std::nullopt;
  return Solution{.point = point, .objective = objective, .mapping = answers_.best(*machine)};
}

std::optional<DesignProblem::Node> DesignProblem::node(SplitBox box, Score cutoff) const {
  std::optional<Node> node = bounded(std::move(box), Score{}, cutoff);
  if (node && node->bound > cutoff) node.reset();
  return node;
}

bool DesignProblem::is_excluded(const GridPoint& point) const {
  return std::find(excluded_.begin(), excluded_.end(), point) != excluded_.end();
}

void DesignProblem::offer(const GridPoint& point, Expansion<Node, Solution>& out) const {
  if (is_excluded(point)) return;
  const std::optional<Problem> machine = machine_of(point);
  if (!machine) return;
  const Score cutoff = out.cutoff();
  const Score objective = answers_.least(*machine, {.cutoff = cutoff});
  if (objective == Score::infinity() || objective > cutoff) return;
  const auto incumbent = out.incumbent();
  if (incumbent && incumbent->objective == objective && !(point < incumbent->point)) return;
  // Searching the mapping again is rare, since a split is seldom the best so far.
  out.solution({.point = point, .objective = objective, .mapping = answers_.best(*machine)}, 'B');
}

std::optional<DesignProblem::Node> DesignProblem::bounded(SplitBox box, Score parent,
                                                          Score cutoff) const {
  if (!space_.tighten(box)) return std::nullopt;
  std::optional<Problem> machine;
  const bool is_point = box.is_point();
  if (is_point) {
    if (is_excluded(box.least)) return std::nullopt;
    machine = machine_of(box.least);
  } else {
    const CycleUse cycles =
        problem_.execution.compute_utilization ? CycleUse::AtUtilization : CycleUse::Counted;
    const auto chip = optimistic_chip(design_, space_.split(box.least), space_.split(box.most),
                                      problem_.system.network, cycles);
    if (chip) machine = machine_with(problem_, design_, *chip);
  }
  if (!machine) return std::nullopt;
  const double slack = is_point ? 1.0 : kRoundings;
  const UselessAbove useless{.cutoff = cutoff, .slack = slack};
  const Score best =
      is_point ? answers_.least(*machine, useless) : answers_.bound(*machine, useless);
  if (best == Score::infinity()) return std::nullopt;
  return Node{.box = std::move(box), .bound = std::max(parent, best / slack)};
}

/// Halves of a box along one share, the lower first; empty halves hold no answer.
DesignProblem::Halves DesignProblem::halves(const SplitBox& box, std::size_t share, Score parent,
                                            Score cutoff) const {
  const std::int32_t middle = box.least[share] + (box.most[share] - box.least[share]) / 2;
  SplitBox lower = box;
  lower.most[share] = middle;
  SplitBox upper = box;
  upper.least[share] = middle + 1;
  Halves both{bounded(std::move(lower), parent, cutoff), bounded(std::move(upper), parent, cutoff)};
  for (std::optional<Node>& half : both) {
    if (half && half->bound > cutoff) half.reset();
  }
  return both;
}

/// Cuts off halves without an answer as long as there are any.  Returns the share to halve along,
/// or nothing if the whole box is cut off.
std::optional<std::size_t> DesignProblem::cut(SplitBox& box, Score parent, Score cutoff) const {
  std::optional<std::size_t> best;
  for (bool changed = true; changed;) {
    changed = false;
    best.reset();
    std::pair<Score, Score> most;  // of the better and of the other half
    for (std::size_t i = 0; i < space_.shares().size(); ++i) {
      deadline_.check();
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
