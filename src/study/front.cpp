#include "study/front.hpp"

#include <algorithm>
#include <tuple>

namespace dfsearch::study {
namespace {

enum class Order { Beats, Equal, Neither };

/// How figures compare in those of the goal.
Order compare(const Goal& goal, const Figures& a, const Figures& b) {
  bool better = false;
  for (const Figure figure : goal.figures) {
    const double x = a.badness(figure), y = b.badness(figure);
    if (x > y) return Order::Neither;
    better = better || x < y;
  }
  return better ? Order::Beats : Order::Equal;
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
  return sorted;
}

}  // namespace dfsearch::study
