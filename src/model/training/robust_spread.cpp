// Finds the spread of the least ratio.  In each scenario, the step is a sum of three maxima over
// the stages.
//
// A class of spreads has, for each scenario and term, a floor for the maximum over the stages and a
// ceiling for every stage.  The term of a stage and the floors of the other terms must add up to
// less than the target ratio.  Within these limits each stage takes as many layers as it can, which
// finds a spread if there is one.  If a sum of this spread still exceeds the target, some maximum
// is above its floor.  The class is then divided into spreads below that maximum and spreads at or
// above it.  The limits exclude the spread found once all its maxima are floors.  docs/search.md,
// section 15.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/training/stages.hpp"

namespace dfsearch::training {
namespace {

class RobustSearch {
 public:
  RobustSearch(std::int64_t stages, const LayerOrder& order,
               const std::vector<SpreadScenario>& scenarios)
      : stages_(stages),
        layers_(order.all()),
        order_(order),
        scenarios_(scenarios),
        known_(order) {}

  std::optional<RobustSpread> run(double most) {
    std::optional<RobustSpread> best;
    below_ = above(most);
    while (std::optional<RobustSpread> found = in(Class(scenarios_.size()))) {
      best = std::move(found);
      below_ = best->ratio;
    }
    if (!best) return best;
    // Which of several equal spreads was found may depend on `most`, so the search is repeated with
    // the least ratio as its limit.
    below_ = above(best->ratio);
    return in(Class(scenarios_.size()));
  }

  std::optional<RobustSpread> run(std::int64_t chunks, double most) {
    std::optional<RobustSpread> best;
    below_ = above(most);
    const std::optional<std::size_t> only = order_.only_kind();
    const auto goes_on = [&](std::int64_t least) {
      scenarios_.front().limits.deadline.check();
      if (!only) return true;
      StageContent content;
      content.of_kind(*only) = least;
      const std::vector<StageCost>& costs = known(content);
      for (std::size_t s = 0; s < costs.size(); ++s) {
        if (!(costs[s].pace() / scenarios_[s].best < below_)) return false;
      }
      return scenarios_.front().limits.holds(stages_ - 1, content);
    };
    for_each_chunked(layers_, stages_, chunks, goes_on, [&](const std::vector<std::int64_t>& one) {
      const double found = ratio(one);
      if (!(found < below_) || !holds(one)) return;
      best = RobustSpread{.layers = one, .ratio = found};
      below_ = found;
    });
    return best;
  }

  double ratio(const std::vector<std::int64_t>& layers) {
    double ratio = 0.0;
    const auto contents = contents_of(layers, 1, order_);
    for (std::size_t s = 0; s < scenarios_.size(); ++s) {
      SpreadCost cost;
      for (const StageContent& content : contents) cost.add(known(content)[s]);
      ratio = std::max(ratio, cost.step() / scenarios_[s].best);
    }
    return ratio;
  }

  [[nodiscard]] bool holds(const std::vector<std::int64_t>& layers) const {
    std::int64_t stage = 0;
    for (const StageContent& content : contents_of(layers, 1, order_)) {
      if (!scenarios_.front().limits.holds(stage++, content)) return false;
    }
    return true;
  }

 private:
  using Term = Seconds StageCost::*;
  static constexpr std::array<Term, 3> kTerms = {&StageCost::forward, &StageCost::backward,
                                                 &StageCost::after_last_backward};
  struct Range {
    StageCost floor;
    StageCost below{Seconds::infinity(), Seconds::infinity(), Seconds::infinity(),
                    Seconds::infinity()};
  };
  using Class = std::vector<Range>;  // by scenario

  static double above(double value) {
    return std::nextafter(value, std::numeric_limits<double>::infinity());
  }

  const std::vector<StageCost>& known(const StageContent& stage) {
    std::vector<StageCost>& costs = known_[stage];
    if (costs.empty()) {
      for (const SpreadScenario& one : scenarios_) costs.push_back(one.limits.cost(stage));
    }
    return costs;
  }

  bool may_have(std::int64_t stage, const StageContent& content, const Class& among) {
    const std::vector<StageCost>& costs = known(content);
    for (std::size_t s = 0; s < costs.size(); ++s) {
      const auto is_within = [&](Seconds step) { return step / scenarios_[s].best < below_; };
      if (!is_within(costs[s].single_stage_time)) return false;
      for (const Term term : kTerms) {
        if (!(costs[s].*term < among[s].below.*term)) return false;
        StageCost with = among[s].floor;
        with.*term = costs[s].*term;
        if (!is_within(with.pace() + with.after_last_backward)) return false;
      }
    }
    return scenarios_.front().limits.holds(stage, content);
  }

  /// Gives each stage as many layers as the class allows; nothing if layers are left over.
  std::optional<std::vector<std::int64_t>> fill(const Class& among) {
    std::vector<std::int64_t> layers(static_cast<std::size_t>(stages_), 0);
    std::int64_t begin = 0, count = 0;
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const auto may = [&](std::int64_t n) {
        StageContent content = order_.content(begin, begin + n);
        content.first = stage == 0;
        content.last = stage == stages_ - 1;
        return may_have(stage, content, among);
      };
      count = std::min(count, layers_ - begin);
      while (count > 0 && !may(count)) --count;
      if (count == 0 && !may(0)) return std::nullopt;
      while (begin + count < layers_ && may(count + 1)) ++count;
      layers[static_cast<std::size_t>(stage)] = count;
      begin += count;
    }
    if (begin < layers_) return std::nullopt;
    return layers;
  }

  std::optional<RobustSpread> in(Class among) {
    for (;;) {
      scenarios_.front().limits.deadline.check();
      std::optional<std::vector<std::int64_t>> layers = fill(among);
      if (!layers) return std::nullopt;
      const double found = ratio(*layers);
      if (found < below_) return RobustSpread{.layers = std::move(*layers), .ratio = found};
      Class less = among;
      divide(*layers, less, among);
      if (auto spread = in(std::move(less))) return spread;
    }
  }

  /// Divides a class at a maximum of a scenario in which the step is too long.
  void divide(const std::vector<std::int64_t>& layers, Class& less, Class& more) {
    const auto contents = contents_of(layers, 1, order_);
    for (std::size_t s = 0; s < scenarios_.size(); ++s) {
      SpreadCost cost;
      for (const StageContent& content : contents) cost.add(known(content)[s]);
      if (cost.step() / scenarios_[s].best < below_) continue;
      for (const Term term : kTerms) {
        Seconds most{};
        for (const StageContent& content : contents) {
          most = std::max(most, known(content)[s].*term);
        }
        if (!(most > more[s].floor.*term)) continue;
        less[s].below.*term = most;
        more[s].floor.*term = most;
        return;
      }
    }
  }

  const std::int64_t stages_, layers_;
  const LayerOrder order_;
  const std::vector<SpreadScenario>& scenarios_;
  ByContent<std::vector<StageCost>> known_;  // by scenario
  double below_ = 0.0;
};

}  // namespace

std::optional<RobustSpread> spread_robustly(std::int64_t stages, const LayerOrder& order,
                                            const std::vector<SpreadScenario>& scenarios,
                                            double most, const std::vector<std::int64_t>& given,
                                            std::int64_t chunks) {
  RobustSearch search(stages, order, scenarios);
  std::vector<std::int64_t> only = given;
  if (stages == 1) only = {order.all()};
  if (only.empty() && chunks > 1) return search.run(chunks, most);
  if (only.empty()) return search.run(most);
  const double ratio = search.ratio(only);
  if (ratio > most || !search.holds(only)) return std::nullopt;
  return RobustSpread{.layers = std::move(only), .ratio = ratio};
}

}  // namespace dfsearch::training
