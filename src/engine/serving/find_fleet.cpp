// A model needs chips of each pool, and what it can serve with so many is a knapsack of several
// dimensions: the best sum of deployments side by side, found for all numbers of chips at once
// (Gilmore and Gomory, Operations Research 1966).  The least numbers that are enough for its rate are
// its front; fronts of the models are added one after the other, of equal or larger sums the first
// is kept.  Dollars, watts and chips rise with each number, so the best sum is on the last front.

#include "engine/serving/find_fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "engine/serving/deployment_space.hpp"
#include "engine/tree/search_monitor.hpp"

namespace dfsearch::serving {
namespace {

constexpr std::size_t kMostNumbers = 1 << 20;
/// Sums of capacities may differ by so much.
constexpr double kSumRounding = 1e-12;

/// Chips of each pool as one number of mixed radix, the first pool fastest.
class Numbers {
 public:
  explicit Numbers(const std::vector<Pool>& pools) {
    for (const Pool& pool : pools) {
      step_.push_back(count_);
      chips_.push_back(static_cast<std::size_t>(pool.chips));
      count_ *= static_cast<std::size_t>(pool.chips) + 1;
      if (count_ > kMostNumbers) {
        throw InputError(
            fmt::format("serving.pools: the chips of a fleet leave more than {} numbers "
                        "of chips, expected smaller pools",
                        kMostNumbers));
      }
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t step(std::size_t pool) const { return step_[pool]; }
  [[nodiscard]] std::size_t of(std::size_t number, std::size_t pool) const {
    return number / step_[pool] % (chips_[pool] + 1);
  }
  [[nodiscard]] bool no_more(std::size_t a, std::size_t b) const {
    for (std::size_t p = 0; p < chips_.size(); ++p) {
      if (of(a, p) > of(b, p)) return false;
    }
    return true;
  }
  [[nodiscard]] bool fit_together(std::size_t a, std::size_t b) const {
    for (std::size_t p = 0; p < chips_.size(); ++p) {
      if (of(a, p) + of(b, p) > chips_[p]) return false;
    }
    return true;
  }
  /// The chips of each pool times its weight.
  template <class Weight>
  [[nodiscard]] double sum(std::size_t number, const Weight& weight) const {
    double sum = 0.0;
    for (std::size_t p = 0; p < chips_.size(); ++p) {
      sum += weight(p) * static_cast<double>(of(number, p));
    }
    return sum;
  }

 private:
  std::vector<std::size_t> step_, chips_;
  std::size_t count_ = 1;
};

/// One deployment of a model by the chips that it takes.
struct Choice {
  Deployment deployment;
  double capacity = 0.0;
};
using Choices = std::map<std::size_t, Choice>;

void offer(Choices& choices, std::size_t chips, const Deployment& deployment, double capacity) {
  Choice& best = choices[chips];
  if (capacity > best.capacity) best = {deployment, capacity};
}

/// The best for each number of chips.
Choices choices_of(const Task& task, const Numbers& numbers, const Deadline& deadline) {
  const DeploymentSpace space(task, deadline);
  const Means& means = space.means();
  const auto chips_of = [&](const Role& role) {
    return static_cast<std::size_t>(role.chips()) * numbers.step(role.structure.pool);
  };
  Choices choices;
  for (const Chain& chain : space.aggregated()) {
    if (chain.batches.empty()) continue;
    // No batch serves more than the largest, and replicas by themselves are choices of their own.
    for (const std::int64_t count : chain.replicas) {
      const Deployment deployment{.mode = Mode::Aggregated,
                                  .prefill = {},
                                  .decode = chain.role(chain.batches.size() - 1, count)};
      const Figures figures = evaluate(task, deployment);
      if (figures.feasible()) {
        offer(choices, chips_of(deployment.decode), deployment, figures.capacity);
      }
      if (count == 1) break;
    }
  }
  for (const Prefiller& prefiller : space.prefillers()) {
    for (const Chain& chain : space.decoders()) {
      deadline.check();
      Deployment deployment{.mode = Mode::Disaggregated, .prefill = prefiller.role, .decode = {}};
      if (chain.batches.empty() || !space.holds(prefiller.role, chain.role(0, 1))) continue;
      const Handover move =
          handover(task, means, prefiller.role.structure, chain.decoder->structure());
      for (const std::int64_t x : prefiller.replicas) {
        deployment.prefill.replicas = x;
        for (const std::int64_t y : chain.replicas) {
          if (!space.holds(deployment.prefill, chain.role(0, y))) break;
          const std::size_t chips = chips_of(deployment.prefill) + chips_of(chain.role(0, y));
          const auto known = choices.find(chips);
          // The capacity falls with the batch: the first that keeps all limits is the best.
          for (std::size_t i = chain.batches.size(); i-- > 0;) {
            deployment.decode = chain.role(i, y);
            const Figures figures =
                disaggregated(task, means, deployment.prefill, prefiller.times, deployment.decode,
                              chain.at(i), move, chain.decoder->tokens_per_step());
            if (known != choices.end() && figures.capacity <= known->second.capacity) break;
            if (!figures.feasible()) continue;
            offer(choices, chips, deployment, figures.capacity);
            break;
          }
        }
      }
    }
  }
  return choices;
}

/// What a model serves with each number of chips, and how.
struct Served {
  std::vector<double> most;
  std::vector<const Choices::value_type*> last;  ///< of the sum; null: a chip is idle
  std::vector<std::size_t> idle;                 ///< the number without it
};

Served served_by(const Choices& choices, const Numbers& numbers, std::size_t pools) {
  Served served{std::vector<double>(numbers.count()),
                std::vector<const Choices::value_type*>(numbers.count()),
                std::vector<std::size_t>(numbers.count())};
  for (std::size_t n = 1; n < numbers.count(); ++n) {
    for (std::size_t p = 0; p < pools; ++p) {
      if (numbers.of(n, p) == 0) continue;
      const std::size_t fewer = n - numbers.step(p);
      if (served.most[fewer] > served.most[n] || served.idle[n] == 0) served.idle[n] = fewer;
      served.most[n] = std::max(served.most[n], served.most[fewer]);
    }
    for (const auto& choice : choices) {
      if (choice.first > n) break;
      if (!numbers.no_more(choice.first, n)) continue;
      const double sum = served.most[n - choice.first] + choice.second.capacity;
      if (sum <= served.most[n]) continue;
      served.most[n] = sum;
      served.last[n] = &choice;
    }
  }
  return served;
}

/// The least numbers of chips that are enough.
std::vector<std::size_t> enough_for(double rate, const Served& served, const Numbers& numbers,
                                    std::size_t pools) {
  const auto is_enough = [&](std::size_t n) {
    return served.most[n] >= rate * (1.0 - kSumRounding);
  };
  std::vector<std::size_t> least;
  for (std::size_t n = 0; n < numbers.count(); ++n) {
    if (!is_enough(n)) continue;
    bool fewer = false;
    for (std::size_t p = 0; p < pools && !fewer; ++p) {
      fewer = numbers.of(n, p) > 0 && is_enough(n - numbers.step(p));
    }
    if (!fewer) least.push_back(n);
  }
  return least;
}

/// A sum of chips and those of the model that came last.
using Sums = std::map<std::size_t, std::size_t>;

Sums added(const Sums& sums, const std::vector<std::size_t>& front, const Numbers& numbers) {
  Sums all;
  for (const auto& [sum, last] : sums) {
    for (const std::size_t more : front) {
      if (numbers.fit_together(sum, more)) all.emplace(sum + more, more);
    }
  }
  Sums least;
  // A smaller sum in all pools is a smaller number.
  for (const auto& [sum, last] : all) {
    const bool beaten = std::any_of(least.begin(), least.end(), [&](const auto& known) {
      return numbers.no_more(known.first, sum);
    });
    if (!beaten) least.emplace(sum, last);
  }
  return least;
}

void add_parts(const Task& task, std::size_t model, std::size_t number, const Served& served,
               std::vector<FleetPart>& fleet) {
  std::map<Deployment, std::int64_t> counts;
  while (number > 0) {
    const auto* choice = served.last[number];
    if (choice) ++counts[choice->second.deployment];
    number = choice ? number - choice->first : served.idle[number];
  }
  for (const auto& [deployment, count] : counts) {
    fleet.push_back({model, count, deployment, evaluate(task, deployment)});
  }
}

}  // namespace

ServingResult find_fleet(const Fleet& fleet, const ServingSearch& search) {
  const auto& [names, models, budget] = fleet;
  SearchMonitor monitor(listening(search), search.before);
  ServingResult result;
  const std::vector<Pool>& pools = models.front().pools;
  const Numbers numbers(pools);
  const auto price = [&](std::size_t p) { return pools[p].price; };
  const auto power = [&](std::size_t p) { return pools[p].power.in_base_units(); };
  const auto one = [](std::size_t) { return 1.0; };
  try {
    std::vector<Task> tasks = models;
    std::vector<Choices> choices;
    std::vector<Served> served;
    std::vector<Sums> sums = {{{0, 0}}};
    for (Task& task : tasks) {
      task.rate.reset();
      choices.push_back(choices_of(task, numbers, search.limits.deadline));
    }
    for (std::size_t m = 0; m < tasks.size(); ++m) {
      search.limits.deadline.check();
      served.push_back(served_by(choices[m], numbers, pools.size()));
      const auto front = enough_for(*models[m].rate, served[m], numbers, pools.size());
      sums.push_back(added(sums.back(), front, numbers));
      result.leaves += static_cast<std::int64_t>(choices[m].size());
      result.stats.nodes += static_cast<std::int64_t>(sums.back().size());
    }
    const auto value = [&](std::size_t sum) {
      const Objective objective = models.front().objective;
      return objective == Objective::Cost     ? numbers.sum(sum, price)
             : objective == Objective::Energy ? numbers.sum(sum, power)
                                              : numbers.sum(sum, one);
    };
    const auto within = [&](std::size_t sum) {
      return !(budget.price && numbers.sum(sum, price) > *budget.price) &&
             !(budget.power && numbers.sum(sum, power) > budget.power->in_base_units()) &&
             !(budget.chips && numbers.sum(sum, one) > real(*budget.chips));
    };
    std::optional<std::size_t> best;
    for (const auto& [sum, last] : sums.back()) {
      if (!within(sum)) continue;
      const auto order = [&](std::size_t n) { return std::pair(value(n), numbers.sum(n, one)); };
      if (!best || order(sum) < order(*best)) best = sum;
    }
    result.status = best ? SearchStatus::Optimal : SearchStatus::Infeasible;
    if (best) {
      result.cost = result.lower_bound = Score(value(*best));
      std::size_t sum = *best;
      for (std::size_t m = tasks.size(); m-- > 0;) {
        const std::size_t used = sums[m + 1].at(sum);
        add_parts(tasks[m], m, used, served[m], result.fleet);
        sum -= used;
      }
      std::stable_sort(result.fleet.begin(), result.fleet.end(),
                       [](const auto& a, const auto& b) { return a.model < b.model; });
    }
  } catch (const Stopped&) {
    result.stopped_by = stop_reason(search.limits.deadline);
  }
  result.stats.time = result.stats.proof_time = monitor.total_time();
  result.stats.threads = search.threads;
  monitor.stop();
  result.callback_error = monitor.callback_error();
  return result;
}

}  // namespace dfsearch::serving
