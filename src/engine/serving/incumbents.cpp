// A Pareto front with ties: a deployment is kept unless another one is no worse in value, time and
// chips and comes before it.

#include "engine/serving/incumbents.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace dfsearch::serving {
namespace {

auto order_of(const Candidate& candidate) {
  return std::tie(candidate.figures.chips, candidate.deployment);
}

}  // namespace

double Incumbents::step_at(double tpot) const {
  const auto after = staircase_.upper_bound(tpot);
  return after == staircase_.begin() ? kNever : std::prev(after)->second;
}

bool Incumbents::beats(const LeastFigures& least) const {
  const double worse = least.value * (1.0 - kTie);
  if (!front_ && best_value() < worse) return true;
  const std::lock_guard lock(mutex_);
  if (front_) {
    return step_at(least.tpot) < worse || step_at(least.tpot * (1.0 - kTie)) <= least.value;
  }
  return std::any_of(kept_.begin(), kept_.end(), [&](const Candidate& known) {
    return known.value <= least.value && order_of(known) <= std::tie(least.chips, least.first);
  });
}

double Incumbents::most_value(double tpot) const {
  if (!front_) return best_value();
  const std::lock_guard lock(mutex_);
  return step_at(tpot);
}

bool Incumbents::add(const Candidate& candidate) {
  const std::lock_guard lock(mutex_);
  const double tpot = candidate.figures.tpot;
  const auto beaten_by = [&](const Candidate& one, const Candidate& by) {
    if (front_) {
      const bool slower = by.figures.tpot <= one.figures.tpot;
      if (slower && by.value < one.value * (1.0 - kTie)) return true;
      if (by.figures.tpot < one.figures.tpot * (1.0 - kTie) && by.value <= one.value) return true;
      return slower && by.value <= one.value && order_of(by) <= order_of(one);
    }
    return by.value < one.value * (1.0 - kTie) ||
           (by.value <= one.value && order_of(by) <= order_of(one));
  };
  if (front_ && step_at(tpot) < candidate.value * (1.0 - kTie)) return false;
  for (const Candidate& known : kept_) {
    if (beaten_by(candidate, known)) return false;
  }
  std::erase_if(kept_, [&](const Candidate& known) { return beaten_by(known, candidate); });
  kept_.push_back(candidate);
  const bool better = candidate.value < best_value();
  if (better) best_.store(candidate.value, std::memory_order_relaxed);
  if (!front_) return better;
  // Drops steps that are slower and no better.
  auto next = staircase_.lower_bound(tpot);
  while (next != staircase_.end() && next->second >= candidate.value) next = staircase_.erase(next);
  if (step_at(tpot) <= candidate.value) return false;
  staircase_[tpot] = candidate.value;
  return true;
}

const Candidate* Incumbents::best() const {
  const std::lock_guard lock(mutex_);
  const Candidate* best = nullptr;
  for (const Candidate& known : kept_) {
    if (known.value * (1.0 - kTie) > best_value()) continue;
    if (!best || order_of(known) < order_of(*best)) best = &known;
  }
  return best;
}

double Incumbents::gap_to(const std::vector<LeastFigures>& open) const {
  std::vector<std::pair<double, double>> shown;  // time per token, value: the steps fall
  if (front_) {
    for (const Candidate& step : steps()) shown.emplace_back(step.figures.tpot, step.value);
  } else if (const Candidate* answer = best()) {
    shown.emplace_back(0.0, answer->value);
  }
  double gap = 0.0;
  const auto compare = [&](double value, double tpot) {
    const auto after =
        std::upper_bound(shown.begin(), shown.end(), std::pair(tpot * (1.0 + kTie), kNever));
    if (after == shown.begin()) {
      gap = 1.0;
    } else if (const double found = std::prev(after)->second; value < found) {
      gap = std::max(gap, (found - value) / found);
    }
  };
  for (const LeastFigures& node : open) compare(node.value, node.tpot);
  const std::lock_guard lock(mutex_);
  for (const Candidate& known : kept_) compare(known.value, known.figures.tpot);
  return gap;
}

const Candidate* Incumbents::least() const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::min_element(kept_.begin(), kept_.end(),
                       [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
  return found == kept_.end() ? nullptr : &*found;
}

std::vector<Deployment> Incumbents::deployments() const {
  const std::lock_guard lock(mutex_);
  std::vector<Deployment> list;
  for (const Candidate& known : kept_) list.push_back(known.deployment);
  return list;
}

std::vector<Candidate> Incumbents::steps() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Candidate*> sorted;
  for (const Candidate& known : kept_) sorted.push_back(&known);
  std::sort(sorted.begin(), sorted.end(), [](const Candidate* a, const Candidate* b) {
    if (a->figures.tpot != b->figures.tpot) return a->figures.tpot < b->figures.tpot;
    return order_of(*a) < order_of(*b);
  });
  std::vector<Candidate> steps;
  for (std::size_t i = 0; i < sorted.size();) {
    // Keeps the best of equally fast points, and the first of equally good ones.
    const double slowest = sorted[i]->figures.tpot * (1.0 + kTie);
    double least = kNever;
    std::size_t end = i;
    for (; end < sorted.size() && sorted[end]->figures.tpot <= slowest; ++end) {
      least = std::min(least, sorted[end]->value);
    }
    const Candidate* chosen = nullptr;
    for (; i < end; ++i) {
      if (sorted[i]->value * (1.0 - kTie) > least) continue;
      if (!chosen || order_of(*sorted[i]) < order_of(*chosen)) chosen = sorted[i];
    }
    if (steps.empty() || chosen->value < steps.back().value * (1.0 - kTie)) {
      steps.push_back(*chosen);
    }
  }
  return steps;
}

}  // namespace dfsearch::serving
