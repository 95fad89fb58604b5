// The greatest capacity of a model, for each number of chips of each pool, is a knapsack problem of
// several dimensions whose items are deployments (Gilmore and Gomory, Operations Research 1966).
// The minimal numbers of chips with enough capacity for the rate are the front of the model.  The
// fronts of the models are added one after the other, without dominated sums.  Dollars, watts and
// chips rise with each number of chips, so the best sum is on the last front.

#include "engine/serving/find_deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "engine/serving/deployment_space.hpp"
#include "engine/serving/remedies.hpp"
#include "engine/tree/search_monitor.hpp"

namespace dfsearch::serving {
namespace {

constexpr std::size_t kMostNumbers = 1 << 20;
// Some milliseconds.
constexpr std::int64_t kSumsBetweenChecks = 1 << 16;
constexpr std::int64_t kFiguresBetweenChecks = 1 << 12;

/// Chips of each pool as one number of mixed radix, the first pool fastest.
class Numbers {
 public:
  explicit Numbers(const std::vector<Pool>& pools) {
    if (count_of(pools) > static_cast<double>(kMostNumbers)) {
      throw InputError(
          fmt::format("serving.pools: the pools of a fleet have more than {} combinations of "
                      "numbers of chips, expected smaller pools",
                      kMostNumbers));
    }
    for (const Pool& pool : pools) {
      step_.push_back(count_);
      chips_.push_back(static_cast<std::size_t>(pool.chips));
      count_ *= static_cast<std::size_t>(pool.chips) + 1;
    }
  }
  /// The number of combinations of chips of the pools.
  [[nodiscard]] static double count_of(const std::vector<Pool>& pools) {
    double count = 1.0;
    for (const Pool& pool : pools) count *= real(pool.chips) + 1.0;
    return count;
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
  /// Weighted sum of the chips over the pools.
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

/// A deployment of a model; Choices has one for each number of chips.
struct Choice {
  Deployment deployment;
  double capacity = 0.0;
};
using Choices = std::map<std::size_t, Choice>;

/// Finds the deployment of a box with the greatest capacity on these chips, if it exceeds the known
/// one, by branch and bound with larger batches first.
void offer(const DeploymentBox& box, std::int64_t prefillers, std::int64_t decoders,
           std::size_t chips, PacedDeadline& paced, Choices& choices) {
  paced.check();
  const Figures figures = box.figures(prefillers, decoders);
  const auto known = choices.find(chips);
  if (!figures.feasible()) return;
  if (known != choices.end() && figures.capacity <= known->second.capacity) return;
  if (box.is_single()) {
    choices[chips] = {box.deployment(prefillers, decoders), figures.capacity};
    return;
  }
  const auto [below, above] = box.halves();
  offer(above, prefillers, decoders, chips, paced, choices);
  offer(below, prefillers, decoders, chips, paced, choices);
}

/// The deployment of the greatest capacity for each number of chips.
Choices choices_of(const Task& task, const Numbers& numbers, const Deadline& deadline) {
  const DeploymentSpace space(task, deadline);
  const auto chips_of = [&](const Structure& structure, std::int64_t count) {
    return static_cast<std::size_t>(count * structure.chips()) * numbers.step(structure.pool);
  };
  Choices choices;
  PacedDeadline paced(deadline, kFiguresBetweenChecks);
  for (const Chain& chain : space.aggregated()) {
    if (chain.batches.empty()) continue;
    const DeploymentBox box(space, chain, nullptr);
    for (const std::int64_t count : chain.replicas) {
      offer(box, 0, count, chips_of(box.decode(), count), paced, choices);
      if (count == 1) break;  // several independent replicas are several deployments
    }
  }
  for (const PrefillChain& prefill : space.prefillers()) {
    for (const Chain& chain : space.decoders()) {
      paced.check();
      if (prefill.batches.empty() || chain.batches.empty()) continue;
      const DeploymentBox box(space, chain, &prefill);
      for (const std::int64_t x : prefill.replicas) {
        for (const std::int64_t y : chain.replicas) {
          if (!space.holds(prefill.role(0, x), chain.role(0, y))) break;
          offer(box, x, y, chips_of(*box.prefill(), x) + chips_of(box.decode(), y), paced, choices);
        }
      }
    }
  }
  return choices;
}

/// The greatest rate of a model for each number of chips, and the deployments that serve it.
struct Served {
  std::vector<double> most;
  std::vector<const Choices::value_type*>
      last;                       ///< by number: last deployment of the sum; null: a chip is idle
  std::vector<std::size_t> idle;  ///< by number: the number without that idle chip
};

Served served_by(const Choices& choices, const Numbers& numbers, std::size_t pools,
                 const Deadline& deadline) {
  PacedDeadline paced(deadline, kSumsBetweenChecks);
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
      paced.check();
      if (!numbers.no_more(choice.first, n)) continue;
      const double sum = served.most[n - choice.first] + choice.second.capacity;
      if (sum <= served.most[n]) continue;
      served.most[n] = sum;
      served.last[n] = &choice;
    }
  }
  return served;
}

/// The minimal numbers of chips with at least this rate.
std::vector<std::size_t> enough_for(double rate, const Served& served, const Numbers& numbers,
                                    std::size_t pools) {
  const auto is_enough = [&](std::size_t n) { return served.most[n] >= rate * (1.0 - kRounding); };
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

/// Sums of chips, each with the chips of the model that was added last.
using Sums = std::map<std::size_t, std::size_t>;

Sums added(const Sums& sums, const std::vector<std::size_t>& front, const Numbers& numbers,
           const Deadline& deadline) {
  PacedDeadline paced(deadline, kSumsBetweenChecks);
  Sums all;
  for (const auto& [sum, last] : sums) {
    for (const std::size_t more : front) {
      paced.check();
      if (numbers.fit_together(sum, more)) all.emplace(sum + more, more);
    }
  }
  Sums least;
  // A sum that is smaller in all pools is a smaller number, so it comes first.
  for (const auto& each : all) {
    const bool beaten = std::any_of(least.begin(), least.end(), [&](const auto& known) {
      paced.check();
      return numbers.no_more(known.first, each.first);
    });
    if (!beaten) least.insert(each);
  }
  return least;
}

void add_parts(const Task& task, std::size_t model, std::size_t number, const Served& served,
               std::vector<FleetMember>& fleet) {
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

class FleetFinder {
 public:
  FleetFinder(const Fleet& fleet, const ServingSearch& search)
      : fleet_(fleet), search_(search), monitor_(listening(search), search.before) {}

  ServingResult run() {
    try {
      const Mixes mixes = mixes_of(fleet_.models);
      for (std::size_t m = 0; m < fleet_.models.size(); ++m) {
        result_.leaves += static_cast<std::int64_t>(mixes.choices[m].size());
        result_.stats.nodes += static_cast<std::int64_t>(mixes.sums[m + 1].size());
      }
      const auto best = best_of(mixes);
      result_.status = best ? SearchStatus::Optimal : SearchStatus::Infeasible;
      if (best) {
        take(mixes, *best);
      } else {
        explain(mixes);
      }
    } catch (const Stopped&) {
      result_.stopped_by = stop_reason(search_.limits.deadline);
    }
    result_.stats.time = result_.stats.proof_time = monitor_.total_time();
    result_.stats.threads = search_.threads;
    monitor_.stop();
    result_.callback_error = monitor_.callback_error();
    return std::move(result_);
  }

 private:
  struct Mixes {
    Numbers numbers;
    std::vector<Choices> choices;  ///< of each model
    std::vector<Served> served;
    std::vector<Sums> sums;  ///< sums[m]: of the first m models
  };

  [[nodiscard]] std::size_t pools() const { return fleet_.models.front().pools.size(); }
  [[nodiscard]] double price(const Numbers& numbers, std::size_t sum) const {
    return numbers.sum(sum, [&](std::size_t p) { return fleet_.models.front().pools[p].price; });
  }
  [[nodiscard]] double power(const Numbers& numbers, std::size_t sum) const {
    return numbers.sum(
        sum, [&](std::size_t p) { return fleet_.models.front().pools[p].power.in_base_units(); });
  }
  [[nodiscard]] static double chips(const Numbers& numbers, std::size_t sum) {
    return numbers.sum(sum, [](std::size_t) { return 1.0; });
  }
  [[nodiscard]] double value(const Numbers& numbers, std::size_t sum) const {
    const Objective objective = fleet_.models.front().objective;
    return objective == Objective::Cost     ? price(numbers, sum)
           : objective == Objective::Energy ? power(numbers, sum)
                                            : chips(numbers, sum);
  }
  [[nodiscard]] bool is_within(const Budget& budget, const Numbers& numbers,
                               std::size_t sum) const {
    return !(budget.price && price(numbers, sum) > *budget.price) &&
           !(budget.power && power(numbers, sum) > budget.power->in_base_units()) &&
           !(budget.chips && chips(numbers, sum) > real(*budget.chips));
  }

  [[nodiscard]] Mixes mixes_of(const std::vector<Task>& models) const {
    Mixes mixes{.numbers = Numbers(models.front().pools), .sums = {{{0, 0}}}};
    for (const Task& task : models) {
      mixes.choices.push_back(
          choices_of(without_rate(task), mixes.numbers, search_.limits.deadline));
      const Choices& choices = mixes.choices.back();
      search_.limits.deadline.check();
      mixes.served.push_back(served_by(choices, mixes.numbers, pools(), search_.limits.deadline));
      const auto front = enough_for(*task.rate, mixes.served.back(), mixes.numbers, pools());
      mixes.sums.push_back(added(mixes.sums.back(), front, mixes.numbers, search_.limits.deadline));
    }
    return mixes;
  }

  [[nodiscard]] std::optional<std::size_t> best_of(const Mixes& mixes) const {
    std::optional<std::size_t> best;
    const auto order = [&](std::size_t n) {
      return std::pair(value(mixes.numbers, n), chips(mixes.numbers, n));
    };
    for (const auto& [sum, last] : mixes.sums.back()) {
      if (!is_within(fleet_.budget, mixes.numbers, sum)) continue;
      if (!best || order(sum) < order(*best)) best = sum;
    }
    return best;
  }

  void take(const Mixes& mixes, std::size_t sum) {
    result_.cost = result_.lower_bound = Score(value(mixes.numbers, sum));
    for (std::size_t m = fleet_.models.size(); m-- > 0;) {
      const std::size_t used = mixes.sums[m + 1].at(sum);
      add_parts(without_rate(fleet_.models[m]), m, used, mixes.served[m], result_.fleet);
      sum -= used;
    }
    std::stable_sort(result_.fleet.begin(), result_.fleet.end(),
                     [](const auto& a, const auto& b) { return a.model < b.model; });
    result_.stats.incumbents = 1;
    result_.stats.first_incumbent = result_.stats.best_incumbent = monitor_.total_time();
  }

  /// Finds remedies; each one changes a single number.
  void explain(const Mixes& mixes) {
    add_budget_remedies(mixes);
    for (std::size_t m = 0; m < fleet_.models.size(); ++m) {
      mixes.choices[m].empty() ? add_limit_remedies(m) : add_rate_remedy(mixes, m);
    }
    // If the budget forbids mixes that exist, more chips do not help.
    if (!mixes.sums.back().empty()) return;
    for (std::size_t p = 0; p < pools(); ++p) add_chips_remedy(p);
  }

  void add_budget_remedies(const Mixes& mixes) {
    const auto add = [&](const char* limit, std::optional<double> given, const auto& lift,
                         const auto& weight) {
      if (!given) return;
      Budget rest = fleet_.budget;
      lift(rest);
      std::optional<double> least;
      for (const auto& [sum, last] : mixes.sums.back()) {
        if (!is_within(rest, mixes.numbers, sum)) continue;
        const double needed = weight(sum);
        if (!least || needed < *least) least = needed;
      }
      if (least) result_.fleet_remedies.push_back({limit, "", *given, *least});
    };
    const Budget& budget = fleet_.budget;
    std::optional<double> watts, number;
    if (budget.power) watts = budget.power->in_base_units();
    if (budget.chips) number = real(*budget.chips);
    add(
        "price", budget.price, [](Budget& rest) { rest.price.reset(); },
        [&](std::size_t sum) { return price(mixes.numbers, sum); });
    add(
        "power", watts, [](Budget& rest) { rest.power.reset(); },
        [&](std::size_t sum) { return power(mixes.numbers, sum); });
    add(
        "chips", number, [](Budget& rest) { rest.chips.reset(); },
        [&](std::size_t sum) { return chips(mixes.numbers, sum); });
  }

  /// Adds remedies for a model without a deployment that keeps its limits.
  void add_limit_remedies(std::size_t model) {
    const Task alone = without_rate(fleet_.models[model]);
    if (!(DeploymentSpace(alone, search_.limits.deadline).deployments() > 0.0)) return;
    ServingSearch search;
    search.limits = search_.limits;
    search.threads = search_.threads;
    for (const Remedy& remedy : find_deployment(alone, search).remedies) {
      const auto fits_with = [&](double value) {
        std::vector<Task> models = fleet_.models;
        for (std::size_t m = 0; m < models.size(); ++m) {
          // All models share the memory.
          if (m == model || remedy.limit == Broken::Memory) {
            put_limit(models[m], remedy.limit, value);
          }
        }
        return best_of(mixes_of(models)).has_value();
      };
      const auto enough = enough_from(remedy.enough, fits_with);
      if (!enough) continue;
      result_.fleet_remedies.push_back(
          {std::string(name_of(remedy.limit)), fleet_.names[model], remedy.given, *enough});
    }
  }

  /// Returns a value of a limit with which the whole fleet fits, within a thousandth of the least.
  /// It may exceed `first`, the value with which one deployment fits if it has no rate.  Returns
  /// nothing if 1,024 times `first` is too little.
  template <class Fits>
  [[nodiscard]] static std::optional<double> enough_from(double first, const Fits& fits_with) {
    constexpr double kMost = 1024.0, kPrecision = 1e-3;
    if (fits_with(first)) return first;
    double low = first, high = 2.0 * first;
    for (; !fits_with(high); high *= 2.0) {
      low = high;
      if (high >= kMost * first) return std::nullopt;
    }
    while (high > low * (1.0 + kPrecision)) {
      const double middle = std::sqrt(low * high);
      (fits_with(middle) ? high : low) = middle;
    }
    return high;
  }

  /// Adds the greatest rate of one model that the chips left by the others can serve.
  void add_rate_remedy(const Mixes& mixes, std::size_t model) {
    Sums others = {{0, 0}};
    for (std::size_t m = 0; m < fleet_.models.size(); ++m) {
      if (m == model) continue;
      others =
          added(others, enough_for(*fleet_.models[m].rate, mixes.served[m], mixes.numbers, pools()),
                mixes.numbers, search_.limits.deadline);
    }
    double most = 0.0;
    PacedDeadline paced(search_.limits.deadline, kSumsBetweenChecks);
    for (const auto& [sum, last] : others) {
      for (std::size_t n = 0; n < mixes.numbers.count(); ++n) {
        paced.check();
        if (mixes.served[model].most[n] <= most || !mixes.numbers.fit_together(sum, n)) continue;
        if (is_within(fleet_.budget, mixes.numbers, sum + n)) most = mixes.served[model].most[n];
      }
    }
    if (most > 0.0) {
      result_.fleet_remedies.push_back(
          {"rate", fleet_.names[model], *fleet_.models[model].rate, most});
    }
  }

  /// Adds the least sufficient number of chips of one pool, by bisection: more chips never hurt.
  void add_chips_remedy(std::size_t pool) {
    constexpr std::int64_t kMost = 4;
    const std::int64_t given = fleet_.models.front().pools[pool].chips;
    const auto fits_with = [&](std::int64_t number) {
      std::vector<Task> models = fleet_.models;
      for (Task& task : models) task.pools[pool].chips = number;
      return Numbers::count_of(models.front().pools) <= static_cast<double>(kMostNumbers) &&
             best_of(mixes_of(models)).has_value();
    };
    std::int64_t low = given, high = 2 * given;
    while (high <= kMost * given && !fits_with(high)) {
      low = high;
      high *= 2;
    }
    if (high > kMost * given) return;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (fits_with(middle) ? high : low) = middle;
    }
    result_.fleet_remedies.push_back(
        {"chips", fleet_.models.front().pools[pool].name, real(given), real(high)});
  }

  const Fleet& fleet_;
  const ServingSearch& search_;
  SearchMonitor monitor_;
  ServingResult result_;
};

}  // namespace

Task without_rate(Task task) {
  task.rate.reset();
  return task;
}

namespace {

/// Called if no fleet serves all rates at the requested level of the memory.  Unless the low end is
/// infeasible as well, the status becomes NoSolution.
void check_low_end(Fleet fleet, const ServingSearch& search, ServingResult& result) {
  if (std::none_of(fleet.models.begin(), fleet.models.end(), has_low_end)) return;
  for (Task& task : fleet.models) task.level = memory::Level::Low;
  const ServingResult low = FleetFinder(fleet, {.limits = search.limits,
                                                .threads = search.threads,
                                                .deterministic = search.deterministic})
                                .run();
  if (low.status == SearchStatus::Infeasible) return;
  result.status = SearchStatus::NoSolution;
  result.stopped_by = low.stopped_by;
}

}  // namespace

ServingResult find_fleet(const Fleet& fleet, const ServingSearch& search) {
  ServingResult result = FleetFinder(fleet, search).run();
  if (result.status == SearchStatus::Infeasible) check_low_end(fleet, search, result);
  if (result.fleet.empty() || !fleet.models.front().framework) return result;
  Fleet any = fleet;
  for (Task& task : any.models) task.framework.reset();
  const ServingResult best = FleetFinder(any, {.limits = search.limits,
                                               .threads = search.threads,
                                               .deterministic = search.deterministic})
                                 .run();
  const bool is_known = !best.fleet.empty();
  const Score least = is_known ? std::min(best.cost, result.cost) : result.cost;
  result.any_framework = BestWithoutFramework{
      .best = least, .lower_bound = is_known ? least : Score{}, .gain = result.cost / least - 1.0};
  return result;
}

}  // namespace dfsearch::serving
