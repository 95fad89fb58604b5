// The best chain of stages, found by pricing few stages.
//
// The cost of a chain from the first border to the last follows from the sum and the greatest of
// the times of its stages.  Every stage has an exact time or a floor, so the least cost by these
// times is a lower bound on all chains.  A stage matters only if the best chain through it, by
// these times, costs less than the best known chain; all others are dropped.  Among the stages that
// matter those with the least bounds are priced, in growing batches, until all stages of the best
// chain are priced: this chain is the optimum.  This is a shortest path with lazy weights (Dellin
// and Srinivasa, 2016) of two criteria.  docs/search.md, section 17.  Tested against brute force:
// tests/engine/stages/find_stages_test.cpp.

#include "engine/stages/stage_chains.hpp"

#include <algorithm>

#include "base/parallel_for.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kPointsBetweenChecks = 100'000;  // about a millisecond
constexpr std::size_t kPointsToReduce = 256;            // of a front

}  // namespace

StageChains::StageChains(const StagePricing& pricing, const StageOrder& order,
                         const StagedStep& step, std::size_t stages, bool has_floors,
                         const Deadline& deadline)
    : pricing_(pricing),
      step_(step),
      stages_(stages),
      count_(order.borders.size()),
      deadline_(deadline),
      edges_(count_) {
  PacedDeadline paced(deadline, 1'000);
  for (std::size_t i = 0; i < count_; ++i) {
    // A stage has all kernels if and only if it is the only stage.
    for (std::size_t j = i + 1; j < count_; ++j) {
      paced.check();
      const bool all = i == 0 && j + 1 == count_;
      if (all != (stages == 1) || !order.borders[j].contains_all(order.borders[i])) continue;
      const auto floor = pricing.floor(i, j);
      if (!floor || floor->time >= kNever) continue;
      edges_[i].push_back({.to = static_cast<std::uint32_t>(j),
                           .flight = floor->flight,
                           .time = has_floors ? floor->time : 0});
    }
  }
  find_fronts();
}

Score StageChains::score(Point point) const {
  const Clock& clock = pricing_.clock();
  return step_.score(clock.seconds(point.sum), clock.seconds(point.greatest));
}

/// Whether the memory of the stage holds the samples in flight if `left` stages are left, including
/// this one.
// docs/model.md (57)
bool StageChains::fits(const Edge& edge, std::size_t left) const {
  return edge.flight >= std::min(pricing_.samples(), static_cast<std::int64_t>(left));
}

/// The points that no other point dominates.
StageChains::Front StageChains::reduced(Front points) {
  std::sort(points.begin(), points.end(), [](Point a, Point b) {
    return a.sum != b.sum ? a.sum < b.sum : a.greatest < b.greatest;
  });
  Front front;
  for (const Point point : points) {
    if (front.empty() || point.greatest < front.back().greatest) front.push_back(point);
  }
  return front;
}

void StageChains::find_fronts() {
  PacedDeadline paced(deadline_, kPointsBetweenChecks);
  const auto extended = [](Point point, Ticks time) {
    return Point{.sum = capped_sum(point.sum, time), .greatest = std::max(point.greatest, time)};
  };
  std::vector<std::vector<Front>> rest(stages_ + 1, std::vector<Front>(count_));
  std::vector<std::vector<Front>> reach = rest;
  rest[0].back() = {{}};
  reach[0].front() = {{}};
  for (std::size_t r = 1; r <= stages_; ++r) {
    for (std::size_t i = 0; i < count_; ++i) {
      Front points;
      for (const Edge& edge : edges_[i]) {
        paced.check();
        if (!fits(edge, r)) continue;
        paced.check(static_cast<std::int64_t>(rest[r - 1][edge.to].size()));
        for (const Point point : rest[r - 1][edge.to]) points.push_back(extended(point, edge.time));
      }
      rest[r][i] = reduced(std::move(points));
    }
  }
  for (std::size_t s = 0; s < stages_; ++s) {
    // Fronts are reduced from time to time, so that a border does not store a point for each path.
    std::vector<std::size_t> most(count_, kPointsToReduce);
    for (std::size_t i = 0; i < count_; ++i) {
      reach[s][i] = reduced(std::move(reach[s][i]));
      for (const Edge& edge : edges_[i]) {
        paced.check(static_cast<std::int64_t>(reach[s][i].size()) + 1);
        if (!fits(edge, stages_ - s) || rest[stages_ - s - 1][edge.to].empty()) continue;
        Front& points = reach[s + 1][edge.to];
        for (const Point point : reach[s][i]) points.push_back(extended(point, edge.time));
        if (points.size() <= most[edge.to]) continue;
        points = reduced(std::move(points));
        most[edge.to] = kPointsToReduce + 2 * points.size();
      }
    }
  }
  rest_ = std::move(rest);
  reach_ = std::move(reach);
  bound_ = Score::infinity();
  for (const Point point : rest_[stages_].front()) bound_ = std::min(bound_, score(point));
}

Score StageChains::bound_with(std::size_t from, const Edge& edge, PacedDeadline& paced) const {
  Score least = Score::infinity();
  for (std::size_t s = 0; s < stages_; ++s) {
    const std::size_t left = stages_ - s;
    if (!fits(edge, left)) continue;
    for (const Point before : reach_[s][from]) {
      paced.check(static_cast<std::int64_t>(rest_[left - 1][edge.to].size()) + 1);
      for (const Point after : rest_[left - 1][edge.to]) {
        const Ticks sum = capped_sum(capped_sum(before.sum, edge.time), after.sum);
        const Ticks greatest = std::max({before.greatest, edge.time, after.greatest});
        least = std::min(least, score({.sum = sum, .greatest = greatest}));
      }
    }
  }
  return least;
}

void StageChains::drop_useless(Score known, std::vector<Candidate>& candidates) {
  PacedDeadline paced(deadline_, kPointsBetweenChecks);
  std::vector<std::vector<Edge>> left(count_);
  std::int64_t dropped = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    for (const Edge& edge : edges_[i]) {
      paced.check();
      const Score bound = bound_with(i, edge, paced);
      if (bound >= known) {
        ++dropped;
        continue;
      }
      if (!edge.is_priced) candidates.push_back({bound, i, left[i].size()});
      left[i].push_back(edge);
    }
  }
  edges_ = std::move(left);
  dropped_ += dropped;
}

std::vector<StageChains::Candidate> StageChains::best_chain() const {
  const Front& ends = rest_[stages_].front();
  Point target = *std::min_element(ends.begin(), ends.end(),
                                   [&](Point a, Point b) { return score(a) < score(b); });
  std::vector<Candidate> chain;
  std::size_t at = 0;
  for (std::size_t left = stages_; left > 0; --left) {
    const auto follow = [&](const Edge& edge) -> std::optional<Point> {
      if (!fits(edge, left)) return std::nullopt;
      for (const Point point : rest_[left - 1][edge.to]) {
        const bool same = capped_sum(point.sum, edge.time) == target.sum &&
                          std::max(point.greatest, edge.time) == target.greatest;
        if (same) return point;
      }
      return std::nullopt;
    };
    for (std::size_t e = 0; e < edges_[at].size(); ++e) {
      const auto point = follow(edges_[at][e]);
      if (!point) continue;
      chain.push_back({Score{}, at, e});
      target = *point;
      at = edges_[at][e].to;
      break;
    }
  }
  DFSEARCH_ASSERT(chain.size() == stages_);
  return chain;
}

void StageChains::take_chain(const std::vector<Candidate>& chain) {
  Point point;
  StageChain taken{.borders = {0}};
  for (const Candidate& stage : chain) {
    const Edge& edge = edges_[stage.from][stage.edge];
    if (edge.time >= kNever) return;
    point.sum = capped_sum(point.sum, edge.time);
    point.greatest = std::max(point.greatest, edge.time);
    taken.borders.push_back(edge.to);
  }
  taken.cost = score(point);
  if (!found_ || taken.cost < found_->cost) found_ = std::move(taken);
}

bool StageChains::advance(Score known) {
  constexpr std::size_t kLeastPriced = 16;
  if (found_) known = std::min(known, found_->cost);
  if (bound_ >= known) return false;
  std::vector<Candidate> candidates;
  drop_useless(known, candidates);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
  const std::size_t some = kLeastPriced + static_cast<std::size_t>(priced_) / 4;
  candidates.resize(std::min(candidates.size(), some));
  // The best chain has no dropped stage.
  const std::vector<Candidate> chain = best_chain();
  std::erase_if(candidates, [&](const Candidate& one) {
    return std::any_of(chain.begin(), chain.end(), [&](const Candidate& other) {
      return one.from == other.from && one.edge == other.edge;
    });
  });
  candidates.insert(candidates.begin(), chain.begin(), chain.end());
  std::vector<Ticks> times(candidates.size());
  parallel_for(candidates.size(), [&](std::size_t c) {
    const Edge& edge = edges_[candidates[c].from][candidates[c].edge];
    times[c] = edge.is_priced ? edge.time : pricing_.price(candidates[c].from, edge.to);
  });
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    Edge& edge = edges_[candidates[c].from][candidates[c].edge];
    priced_ += edge.is_priced ? 0 : 1;
    edge.time = times[c];
    edge.is_priced = true;
  }
  take_chain(chain);
  for (std::vector<Edge>& edges : edges_) {
    std::erase_if(edges, [](const Edge& edge) { return edge.time >= kNever; });
  }
  find_fronts();
  return true;
}

}  // namespace dfsearch
