// Limits that an answer reaches exactly: it keeps them, so the same question with its figures as
// limits has that answer, whatever is rounded on the way.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/serving/find_deployment.hpp"
#include "engine/serving/incumbents.hpp"
#include "support/serving_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;

/// The least capacity of a pool that has room for `bytes`.
Bytes capacity_for(const Pool& pool, double bytes) {
  Pool with = pool;
  Bytes& capacity = with.machine.memory[0].capacity;
  const auto next = [&](double to) {
    capacity = Bytes(std::nextafter(capacity.in_base_units(), to));
  };
  capacity = Bytes(bytes / pool.engine.usable);
  while (with.usable().in_base_units() < bytes) next(std::numeric_limits<double>::infinity());
  while (with.usable().in_base_units() >= bytes) next(0.0);
  next(std::numeric_limits<double>::infinity());
  return capacity;
}

/// A change of a task that takes nothing from this answer.
struct Reached {
  const char* limit;
  void (*put)(Task&, const FrontPoint&);
  bool changes_others = false;  ///< figures of other deployments depend on it
};
const Reached kReached[] = {
    {"tpot", [](Task& t, const FrontPoint& p) { t.limits.tpot = Seconds(p.figures.tpot); }},
    {"ttft", [](Task& t, const FrontPoint& p) { t.limits.ttft = Seconds(p.figures.ttft); }},
    {"e2e", [](Task& t, const FrontPoint& p) { t.limits.e2e = Seconds(p.figures.e2e); }},
    {"cost", [](Task& t, const FrontPoint& p) { t.limits.cost = p.figures.dollars_per_mtoken; }},
    {"concurrency",
     [](Task& t, const FrontPoint& p) {
       if (t.concurrency) t.concurrency = p.figures.in_flight;
     },
     true},
    {"mixed",
     [](Task& t, const FrontPoint& p) {
       if (p.figures.mixed_share > 0.0) t.utilization.mixed = p.figures.mixed_share;
     }},
    {"memory",
     [](Task& t, const FrontPoint& p) {
       const std::size_t decodes = p.deployment.decode.structure.pool;
       std::vector<double> used(t.pools.size());
       used[decodes] = p.figures.memory;
       if (p.deployment.mode == serving::Mode::Disaggregated) {
         double& prefills = used[p.deployment.prefill.structure.pool];
         prefills = std::max(prefills, p.figures.memory_prefill);
       }
       for (std::size_t i = 0; i < used.size(); ++i) {
         if (used[i] > 0.0) {
           t.pools[i].machine.memory[0].capacity = capacity_for(t.pools[i], used[i]);
         }
       }
     }},
    {"chips",
     [](Task& t, const FrontPoint& p) {
       const Role& decode = p.deployment.decode;
       std::vector<std::int64_t> used(t.pools.size());
       used[decode.structure.pool] += decode.chips();
       if (p.deployment.mode == serving::Mode::Disaggregated) {
         used[p.deployment.prefill.structure.pool] += p.deployment.prefill.chips();
       }
       for (std::size_t i = 0; i < used.size(); ++i) {
         if (used[i] > 0) t.pools[i].chips = used[i];
       }
     }},
    {"rate",
     [](Task& t, const FrontPoint& p) {
       if (!t.rate && !t.concurrency && !t.num_requests) t.rate = p.figures.capacity;
     },
     true}};

bool is_no_better(const Task& task, const Figures& other, const Figures& figures) {
  const auto value = [&](const Figures& f) { return value_of(task.objective, task.front, f); };
  return other.tpot <= figures.tpot && value(other) <= value(figures) * (1.0 + kTie);
}

TEST_CASE("limits set to what an answer does are kept by it" * doctest::test_suite("worlds")) {
  std::mt19937_64 random(12);
  int reached = 0;
  for (int world = 0; world < test::share_of(700); ++world) {
    CAPTURE(world);
    Task task = test::random_task(random);
    // All batches of an interval, not the few of the lists.
    if (world % 2 == 0) task.all.batch = DegreeChoice{.values = {}, .least = 1, .most = 40};
    if (test::all_deployments(task).empty()) continue;
    const ServingResult found = find_deployment(task, {});
    if (found.status != SearchStatus::Optimal) continue;
    const bool front = task.objective == serving::Objective::Front;
    std::vector<FrontPoint> points = found.front;
    if (!front) points = {{*found.deployment, *found.figures}};
    if (points.size() > 4) points = {points.front(), points[points.size() / 2], points.back()};
    for (const FrontPoint& point : points) {
      if (!std::isfinite(point.figures.ttft)) continue;
      for (const Reached& row : kReached) {
        CAPTURE(std::string(row.limit));
        Task limited = task;
        row.put(limited, point);
        // Requests that come at random as fast as a loop serves them take more time than in the
        // loop, and share fewer iterations: the rate and the cost are what it keeps.
        const bool is_loop = point.deployment.mode == serving::Mode::Aggregated && !task.rate;
        if (is_loop && limited.rate) {
          limited.limits = {.ttft = {}, .tpot = {}, .e2e = {}, .cost = limited.limits.cost};
          limited.utilization.mixed = 1.0;
          const Figures figures = evaluate(limited, point.deployment);
          REQUIRE(figures.feasible());
          // A queue without end is no answer.
          if (!std::isfinite(value_of(limited.objective, limited.front, figures))) continue;
          CHECK(find_deployment(limited, {}).status == SearchStatus::Optimal);
          ++reached;
          continue;
        }
        REQUIRE(evaluate(limited, point.deployment).feasible());
        const ServingResult again = find_deployment(limited, {});
        REQUIRE(again.status == SearchStatus::Optimal);
        ++reached;
        if (front) {
          const bool has =
              std::any_of(again.front.begin(), again.front.end(), [&](const FrontPoint& step) {
                return is_no_better(task, step.figures, point.figures);
              });
          CHECK(has);
        } else if (row.changes_others) {
          CHECK(again.cost <= found.cost * (1.0 + kTie));
        } else {
          CHECK(*again.deployment == *found.deployment);
        }
      }
    }
  }
  CHECK(reached > test::share_of(2000));
}

/// An interval with other batches than this one serves a rate that is reached.
TEST_CASE("each batch serves the rate that it can, whatever else is open") {
  std::mt19937_64 random(13);
  int served = 0;
  for (int world = 0; world < 1500; ++world) {
    CAPTURE(world);
    Task task = test::random_task(random);
    task.limits = {};
    task.rate.reset();
    task.concurrency.reset();
    task.rounds.reset();
    task.num_requests.reset();
    // Requests that come at random share fewer iterations than those of a loop.
    task.utilization.mixed = 1.0;
    task.objective = serving::Objective::Cost;
    const std::vector<Deployment> all = test::all_deployments(task);
    if (all.empty()) continue;
    const Deployment& one = all[random() % all.size()];
    const Figures figures = evaluate(task, one);
    if (!figures.feasible()) continue;
    const auto pin = [](const Role& role) {
      const Structure& s = role.structure;
      const auto only = [](std::int64_t value) { return DegreeChoice{.values = {value}}; };
      return RoleChoices{.tensor = only(s.tensor),
                         .pipeline = only(s.pipeline),
                         .attention_data = only(s.attention_data),
                         .expert = only(s.expert),
                         .replicas = only(role.replicas),
                         .batch = DegreeChoice{.values = {}, .least = 1, .most = role.batch},
                         .chunk = only(role.chunk)};
    };
    task.modes = {one.mode};
    task.prefill = pin(one.prefill);
    task.aggregated = task.decode = pin(one.decode);
    task.rate = figures.capacity;
    REQUIRE(evaluate(task, one).feasible());
    CHECK(find_deployment(task, {}).status == SearchStatus::Optimal);
    ++served;
  }
  CHECK(served > 500);
}

TEST_CASE("a fleet keeps the budget and the rates that are its own") {
  std::mt19937_64 random(14);
  int fleets = 0;
  for (int world = 0; world < 150; ++world) {
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
      models.push_back(std::move(task));
    }
    const ServingResult found = find_fleet({{"a", "b"}, models, {}}, {});
    if (found.status != SearchStatus::Optimal) continue;
    ++fleets;
    Budget budget;
    const double cost = found.cost.in_base_units();
    if (world % 3 == 0) budget.price = cost;
    if (world % 3 == 1) budget.power = Watts(cost);
    if (world % 3 == 2) budget.chips = std::llround(cost);
    const ServingResult within = find_fleet({{"a", "b"}, models, budget}, {});
    REQUIRE(within.status == SearchStatus::Optimal);
    CHECK(within.cost == found.cost);
    std::vector<double> served(models.size());
    for (const FleetMember& part : found.fleet) {
      served[part.model] += real(part.count) * part.figures.capacity;
    }
    for (std::size_t m = 0; m < models.size(); ++m) models[m].rate = served[m];
    const ServingResult again = find_fleet({{"a", "b"}, models, budget}, {});
    REQUIRE(again.status == SearchStatus::Optimal);
    CHECK(again.cost == found.cost);
  }
  CHECK(fleets > 30);
}

}  // namespace
}  // namespace dfsearch
