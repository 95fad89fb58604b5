// The cheapest fleet is the cheapest multiset of deployments, tried one by one.

#include "engine/serving/find_deployment.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "support/serving_worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;
using Chips = std::vector<std::int64_t>;

/// The rate of the best deployment on exactly these chips.
std::map<Chips, double> capacities(const Task& task) {
  std::map<Chips, double> best;
  for (const Deployment& deployment : test::all_deployments(task)) {
    const Figures figures = evaluate(task, deployment);
    if (!figures.feasible()) continue;
    Chips chips(task.pools.size());
    chips[deployment.decode.structure.pool] += deployment.decode.chips();
    if (deployment.mode == serving::Mode::Disaggregated) {
      chips[deployment.prefill.structure.pool] += deployment.prefill.chips();
    }
    best[chips] = std::max(best[chips], figures.capacity);
  }
  return best;
}

/// Calls with the chips of each multiset that serves the rate, from this choice on.
template <class Call>
void each_mix(const Chips& left, double rate, std::map<Chips, double>::const_iterator choice,
              std::map<Chips, double>::const_iterator end, const Call& call) {
  if (rate <= 0.0) return call(left);
  for (; choice != end; ++choice) {
    Chips less = left;
    bool fits = true;
    for (std::size_t p = 0; p < left.size(); ++p) {
      less[p] -= choice->first[p];
      fits = fits && less[p] >= 0;
    }
    if (fits) each_mix(less, rate - choice->second, choice, end, call);
  }
}

struct Asked {
  std::vector<Task> models;
  Budget budget;
};

/// The question with another number where the remedy changes one.
Asked changed(Asked asked, const FleetRemedy& remedy, double number) {
  if (remedy.of.empty()) {
    if (remedy.limit == "price") asked.budget.price = number;
    if (remedy.limit == "power") asked.budget.power = Watts(number);
    if (remedy.limit == "chips") asked.budget.chips = std::llround(number);
    return asked;
  }
  for (std::size_t m = 0; m < asked.models.size(); ++m) {
    Task& task = asked.models[m];
    if (remedy.limit == "memory") {
      for (Pool& pool : task.pools) {
        pool.machine.memory[0].capacity = number / remedy.given * pool.machine.memory[0].capacity;
      }
    } else if (remedy.limit == "chips") {
      for (Pool& pool : task.pools) {
        if (pool.name == remedy.of) pool.chips = std::llround(number);
      }
    } else if (remedy.of == std::string(1, static_cast<char>('a' + m))) {
      if (remedy.limit == "rate") task.rate = number;
      if (remedy.limit == "tpot") task.limits.tpot = Seconds(number);
      if (remedy.limit == "ttft") task.limits.ttft = Seconds(number);
      if (remedy.limit == "e2e") task.limits.e2e = Seconds(number);
      if (remedy.limit == name_of(Broken::Cost)) task.limits.cost = number;
    }
  }
  return asked;
}

/// A fleet is found with enough of the quantity, and none with a little less change.
void check_least(const Asked& asked, const FleetRemedy& remedy) {
  const auto fits = [&](double number) {
    const Asked other = changed(asked, remedy, number);
    return find_fleet({{"a", "b"}, other.models, other.budget}, {}).status == SearchStatus::Optimal;
  };
  CAPTURE(remedy.limit);
  CAPTURE(remedy.of);
  if (remedy.limit == "rate") {
    CHECK(fits(remedy.enough));
    CHECK_FALSE(fits(remedy.enough * (1.0 + 1e-9)));
  } else if (remedy.limit == "chips") {
    CHECK(fits(remedy.enough));
    CHECK_FALSE(fits(remedy.enough - 1.0));
  } else if (remedy.of.empty()) {
    CHECK(fits(remedy.enough));
    CHECK_FALSE(fits(std::nextafter(remedy.enough, 0.0)));
  } else {
    CHECK(fits(remedy.enough * (1.0 + 1e-12)));
    CHECK_FALSE(fits(remedy.enough * (1.0 - 2e-3)));
  }
}

TEST_CASE("the cheapest fleet is that of all mixes of deployments" * doctest::test_suite("slow")) {
  std::mt19937_64 random(9);
  int with_answer = 0;
  std::size_t remedies = 0;
  int guesses = 0;
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    std::vector<Task> models;
    for (int m = 0; m < 2; ++m) {
      Task task = test::random_task(random);
      task.concurrency.reset();
      task.rounds.reset();
      task.num_requests.reset();
      task.rate = std::uniform_real_distribution<double>(1.0, 60.0)(random);
      constexpr serving::Objective kObjectives[] = {
          serving::Objective::Cost, serving::Objective::Energy, serving::Objective::Chips};
      task.objective = kObjectives[world % 3];
      if (m > 0) task.pools = models[0].pools;
      for (Pool& pool : task.pools) pool.chips = std::min<std::int64_t>(pool.chips, 6);
      models.push_back(std::move(task));
    }
    const auto& pools = models[0].pools;
    Budget budget;
    if (world % 5 == 0) budget.chips = 5;
    if (world % 7 == 0) budget.price = 12.0;
    if (world % 11 == 0) budget.power = Watts(3000.0);

    Chips all;
    for (const Pool& pool : pools) all.push_back(pool.chips);
    const auto enough = [](double rate) { return rate * (1.0 - 1e-12); };
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const auto best_at = [&](memory::Level level, const std::vector<Task>& of) {
      double best = kNone;
      std::vector<std::map<Chips, double>> known;
      for (Task task : of) {
        task.rate.reset();
        task.level = level;
        known.push_back(capacities(task));
      }
      each_mix(all, enough(*models[0].rate), known[0].begin(), known[0].end(),
               [&](const Chips& left) {
                 each_mix(left, enough(*models[1].rate), known[1].begin(), known[1].end(),
                          [&](const Chips& rest) {
                            double price = 0.0, power = 0.0, chips = 0.0;
                            for (std::size_t p = 0; p < pools.size(); ++p) {
                              const double used = real(all[p] - rest[p]);
                              price += used * pools[p].price;
                              power += used * pools[p].power.in_base_units();
                              chips += used;
                            }
                            if (budget.price && price > *budget.price) return;
                            if (budget.power && power > budget.power->in_base_units()) return;
                            if (budget.chips && chips > real(*budget.chips)) return;
                            const double values[] = {price, power, chips};
                            best = std::min(best, values[world % 3]);
                          });
               });
      return best;
    };
    const double best = best_at(memory::Level::Typical, models);

    // It is proved that nothing fits, unless something does at the low end of the memory.
    const auto check_low_end = [&](const std::vector<Task>& of, const ServingResult& none) {
      const bool may_fit = best_at(memory::Level::Low, of) < kNone;
      CHECK((none.status == SearchStatus::NoSolution) == may_fit);
      guesses += may_fit;
    };
    const ServingResult found = find_fleet({{"a", "b"}, models, budget}, {});
    CHECK((found.status == SearchStatus::Optimal) == (best < kNone));
    if (found.status != SearchStatus::Optimal) {
      check_low_end(models, found);
      for (const FleetRemedy& remedy : found.fleet_remedies) check_least({models, budget}, remedy);
      remedies += found.fleet_remedies.size();
    }
    if (found.status != SearchStatus::Optimal) continue;
    ++with_answer;
    for (std::vector<Task> tight = models; world % 15 == 1;) {
      for (Task& task : tight) {
        for (Pool& pool : task.pools) {
          pool.machine.memory[0].capacity = 0.97 * pool.machine.memory[0].capacity;
        }
      }
      const ServingResult less = find_fleet({{"a", "b"}, tight, budget}, {});
      if (less.status != SearchStatus::Optimal) check_low_end(tight, less);
      if (less.status == SearchStatus::Infeasible) break;
    }
    CHECK(found.cost.in_base_units() == doctest::Approx(best).epsilon(1e-12));
    std::vector<double> served(models.size());
    for (const FleetMember& part : found.fleet) {
      Task task = models[part.model];
      task.rate.reset();
      CHECK(evaluate(task, part.deployment).feasible());
      served[part.model] += real(part.count) * part.figures.capacity;
    }
    for (std::size_t m = 0; m < models.size(); ++m) CHECK(served[m] >= enough(*models[m].rate));
  }
  CHECK(with_answer > 50);
  CHECK(remedies > 50);
  CHECK(guesses > 0);
}

}  // namespace
}  // namespace dfsearch
