// Branch and bound over boxes of points: a box that may hold a member of the front is halved.
//
// The fastest point of a box bounds the steps of all its points, the cheapest one their price,
// power and peak.  A box holds no member if a found point beats its best possible figures.  Boxes
// are examined in the order of one figure, so that points that beat a box are found before it and
// no box is opened that the complete front would close.  Points are solved where they are the
// fastest of an open box, and one answer serves all boxes that share this point.

#include "study/front_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace dfsearch::study {
namespace {

// A box takes some hundred bytes.
constexpr std::size_t kMostBoxes = 2'000'000;

/// The figure that orders boxes: one whose value at the cheapest point is known without a search,
/// if the goal has such a figure.
Figure order_of(const Goal& goal) {
  for (const Figure figure : goal.figures) {
    if (figure == Figure::Price || figure == Figure::Power) return figure;
  }
  return goal.figures.front();
}

// Greatest relative difference of times that are equal in exact arithmetic: sums of some thousand
// doubles in different orders.
constexpr double kEqualWithin = 1e-12;

enum class Order { Beats, Equal, Neither };

Order compare(const Goal& goal, const Figures& a, const Figures& b) {
  bool better = false;
  for (const Figure figure : goal.figures) {
    const double x = a.badness(figure), y = b.badness(figure);
    if (x > y) return Order::Neither;
    better = better || x < y;
  }
  return better ? Order::Beats : Order::Equal;
}

bool is_clearly_less(double x, double y) { return x < y - kEqualWithin * std::abs(y); }

/// Whether `a` beats `b` except for roundings: it is no worse in any figure, and better in one or
/// of lower rank.
bool beats_but_for_roundings(const Goal& goal, const Front::Member& a, const Front::Member& b) {
  bool better = false;
  for (const Figure figure : goal.figures) {
    const double x = a.figures.badness(figure), y = b.figures.badness(figure);
    if (is_clearly_less(y, x)) return false;
    better = better || is_clearly_less(x, y);
  }
  return better || a.rank < b.rank;
}

}  // namespace

bool FrontSearch::Later::operator()(const Node& a, const Node& b) const {
  return std::tuple(a.order, a.rank) > std::tuple(b.order, b.rank);
}

FrontSearch::FrontSearch(const Grid& grid, const Goal& goal, const PointKnowledge& knowledge,
                         PointIndex begin, PointIndex end, const Deadline& deadline)
    : grid_(grid), goal_(goal), knowledge_(knowledge), order_(order_of(goal)), front_(goal) {
  count_.points = grid_.included(begin, end);
  for (Box& box : grid_.boxes(begin, end)) open(std::move(box), 0.0, deadline);
}

StudyCount FrontSearch::count() const {
  StudyCount count = count_;
  if (open_.empty() && waiting_.empty()) count.pruned = count.points - count.solved;
  return count;
}

/// Adds a box to the open ones, cut into boxes that can be bounded as a whole.
void FrontSearch::open(Box box, double step_bound, const Deadline& deadline) {
  std::vector<Box> boxes{std::move(box)};
  while (!boxes.empty()) {
    Box next = std::move(boxes.back());
    boxes.pop_back();
    deadline.check();
    if (open_.size() >= kMostBoxes) {
      throw InputError(fmt::format(
          "study: the search for a front tries choices one by one if they cannot be compared, and "
          "here there are more than {}; expected fewer, a part (--shard), or `solve: all`",
          kMostBoxes));
    }
    Node node{.box = next, .step_bound = step_bound};
    node.rank = grid_.rank(fastest(next), knowledge_.growth);
    node.least = knowledge_.facts(cheapest(next));
    std::size_t apart = 0;  // first dimension whose choices cannot be bounded together
    while (apart < grid_.dimensions() &&
           (next.first[apart] == next.last[apart] ||
            (node.least.grows && knowledge_.growth[apart] != Growth::None))) {
      ++apart;
    }
    if (apart == grid_.dimensions()) {
      node.order = optimistic_figures(node.least, step_bound).badness(order_);
      open_.push(std::move(node));
      continue;
    }
    for (std::int32_t choice = next.last[apart]; choice >= next.first[apart]; --choice) {
      boxes.push_back(next);
      boxes.back().first[apart] = boxes.back().last[apart] = choice;
    }
  }
}

PointIndex FrontSearch::cheapest(const Box& box) const {
  Choices choices = box.first;
  for (std::size_t d = 0; d < choices.size(); ++d) {
    if (knowledge_.growth[d] == Growth::Descending) choices[d] = box.last[d];
  }
  return grid_.index(choices);
}

Choices FrontSearch::fastest(const Box& box) const {
  Choices choices = box.first;
  for (std::size_t d = 0; d < choices.size(); ++d) {
    if (knowledge_.growth[d] == Growth::Ascending) choices[d] = box.last[d];
  }
  return choices;
}

bool FrontSearch::is_beaten(const Node& node, double step_bound) const {
  const Figures best = optimistic_figures(node.least, step_bound);
  return !goal_.may_allow(best) || front_.beats(best, node.rank);
}

/// The dimension along which price and power grow most; if they do not grow, the one with most
/// choices.
std::size_t FrontSearch::dimension_to_split(const Node& node) const {
  std::size_t best = grid_.dimensions();
  std::pair<double, std::int32_t> most{};
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
    const std::int32_t width = node.box.last[d] - node.box.first[d];
    if (width == 0) continue;
    Box part = node.box;
    (knowledge_.growth[d] == Growth::Descending ? part.last[d] : part.first[d]) =
        knowledge_.growth[d] == Growth::Descending ? part.first[d] : part.last[d];
    const PointFacts facts = knowledge_.facts(cheapest(part));
    const auto growth = [](double from, double to) { return from > 0.0 ? to / from : 1.0; };
    const std::pair grown{
        growth(node.least.price, facts.price) * growth(node.least.power, facts.power), width};
    if (best == grid_.dimensions() || grown > most) {
      most = grown;
      best = d;
    }
  }
  return best;
}

void FrontSearch::split(const Node& node) {
  const std::size_t d = dimension_to_split(node);
  Box lower = node.box, upper = node.box;
  lower.last[d] = node.box.first[d] + (node.box.last[d] - node.box.first[d]) / 2;
  upper.first[d] = lower.last[d] + 1;
  open(std::move(lower), node.step_bound, {});
  open(std::move(upper), node.step_bound, {});
}

void FrontSearch::add(const PointAnswer& answer) {
  add_to(count_, answer);
  front_.add(answer.index, grid_.rank(grid_.choices(answer.index), knowledge_.growth),
             answer.figures);
}

std::optional<PointIndex> FrontSearch::next() {
  while (!open_.empty()) {
    Node node = open_.top();
    open_.pop();
    if (is_beaten(node, node.step_bound)) continue;
    const Choices choices = fastest(node.box);
    const PointIndex point = grid_.index(choices);
    if (grid_.is_excluded(choices)) {
      if (grid_.included(node.box) > 0) split(node);
      continue;
    }
    if (const auto waits = waiting_.find(point); waits != waiting_.end()) {
      waits->second.push_back(std::move(node));
      continue;
    }
    const PointBounds* answer = answer_of(point);
    if (answer != nullptr && (answer->whole || is_beaten(node, answer->step_bound))) {
      proceed(std::move(node), *answer);
      continue;
    }
    waiting_[point].push_back(std::move(node));
    return point;
  }
  return std::nullopt;
}

const FrontSearch::PointBounds* FrontSearch::answer_of(PointIndex index) {
  const auto found = known_.find(index);
  if (found != known_.end()) return &found->second;
  const PointAnswer* answer = knowledge_.known(index);
  if (answer == nullptr) return nullptr;
  add(*answer);
  return &known_.emplace(index, PointBounds{answer->status, answer->step_bound}).first->second;
}

/// Continues with a box whose fastest point has this answer.
void FrontSearch::proceed(Node node, const PointBounds& answer) {
  if (node.box.is_point() && answer.whole) return;
  // If the fastest point is infeasible, all are; a failure proves nothing about the others.
  if (answer.status == PointStatus::Infeasible) return;
  node.step_bound = std::max(node.step_bound, answer.step_bound);
  if (is_beaten(node, node.step_bound)) return;
  DFSEARCH_ASSERT(!node.box.is_point());
  split(node);
}

bool FrontSearch::wants(const PointAnswer& answer) {
  const std::vector<Node>& nodes = waiting_.at(answer.index);
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return !is_beaten(node, std::max(node.step_bound, answer.step_bound));
  });
}

/// A point better than the bound of its box would disprove the monotonicity of a quantity.
void FrontSearch::check(const Node& node, const PointAnswer& answer) const {
  constexpr double kRounding = 1.0 + 1e-9;
  if (answer.figures[Figure::StepTime] * kRounding < node.step_bound) {
    throw InternalError("point " + std::to_string(answer.index) +
                        " is faster than the fastest point of its box");
  }
}

void FrontSearch::take(const PointAnswer& answer) {
  const auto waits = waiting_.find(answer.index);
  DFSEARCH_ASSERT(waits != waiting_.end());
  std::vector<Node> nodes = std::move(waits->second);
  waiting_.erase(waits);
  const bool whole = !answer.stopped_by_effort;
  if (whole) add(answer);
  const PointBounds known{answer.status, answer.step_bound, whole};
  known_.insert_or_assign(answer.index, known);
  for (Node& node : nodes) {
    check(node, answer);
    proceed(std::move(node), known);
  }
}

bool Goal::allows(const Figures& of) const {
  return std::all_of(limits.begin(), limits.end(), [&](const FigureLimit& limit) {
    return of[limit.figure] >= limit.least && of[limit.figure] <= limit.most;
  });
}

bool Goal::may_allow(const Figures& best) const {
  return std::all_of(limits.begin(), limits.end(), [&](const FigureLimit& limit) {
    const double value = best[limit.figure];
    return more_is_better(limit.figure) ? value >= limit.least : value <= limit.most;
  });
}

bool Front::add(PointIndex index, PointIndex rank, const Figures& figures) {
  const bool complete = std::all_of(goal_.figures.begin(), goal_.figures.end(),
                                    [&](Figure figure) { return figures.has(figure); });
  if (!complete || !goal_.allows(figures) || beats(figures, rank)) return false;
  std::erase_if(members_, [&](const Member& member) {
    const Order order = compare(goal_, figures, member.figures);
    return order == Order::Beats || (order == Order::Equal && rank < member.rank);
  });
  members_.push_back({index, rank, figures});
  return true;
}

bool Front::beats(const Figures& best, PointIndex rank) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    const Order order = compare(goal_, member.figures, best);
    return order == Order::Beats || (order == Order::Equal && member.rank <= rank);
  });
}

std::vector<Front::Member> Front::members() const {
  std::vector<Member> sorted = members_;
  const Figure by = goal_.figures.front();
  std::sort(sorted.begin(), sorted.end(), [&](const Member& a, const Member& b) {
    return std::tuple(a.figures.badness(by), a.index) < std::tuple(b.figures.badness(by), b.index);
  });
  // Beating except for roundings is not transitive, so this is done once, in a fixed order instead
  // of the order in which points arrive.
  for (std::size_t i = sorted.size(); i-- > 0;) {
    const bool beaten = std::any_of(sorted.begin(), sorted.end(), [&](const Member& other) {
      return other.index != sorted[i].index && beats_but_for_roundings(goal_, other, sorted[i]);
    });
    if (beaten) sorted.erase(sorted.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return sorted;
}

}  // namespace dfsearch::study
