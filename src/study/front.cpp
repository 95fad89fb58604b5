#include "study/front.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

namespace dfsearch::study {
namespace {

// Times that are equal on paper differ by this much of themselves at most: sums of some thousand
// doubles, in other orders.
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
  // Beating except for roundings is no transitive order, so this is done once, in an order of its
  // own and not in the order in which points arrive.
  for (std::size_t i = sorted.size(); i-- > 0;) {
    const bool beaten = std::any_of(sorted.begin(), sorted.end(), [&](const Member& other) {
      return other.index != sorted[i].index && beats_but_for_roundings(goal_, other, sorted[i]);
    });
    if (beaten) sorted.erase(sorted.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return sorted;
}

}  // namespace dfsearch::study
