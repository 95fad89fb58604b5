// The search finds what a look at every deployment finds: the best of one objective, the front, and
// how many keep all limits.

#include "engine/serving/find_deployment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "engine/serving/deployment_space.hpp"
#include "engine/serving/incumbents.hpp"
#include "engine/serving/quick_bound.hpp"
#include "support/serving_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;

struct Enumerated {
  std::size_t count = 0;  ///< those that break limits as well
  std::vector<FrontPoint> feasible;
  double best = std::numeric_limits<double>::infinity();
};

/// The table of docs/serving.md, section 6.
bool table_allows(Framework framework, Drafting drafting, const serving::Role& role) {
  const Structure& s = role.structure;
  const bool aggregates = role.chunk > 0, drafts = role.depth > 0, staged = s.pipeline > 1;
  if (staged && drafts) return false;
  switch (framework) {
    case Framework::Vllm:
      return (s.expert == 1 || s.expert == s.tensor * s.attention_data) &&
             !(drafts && drafting == Drafting::Tree);
    case Framework::Sglang:
      return !aggregates || (!staged && !drafts);
    case Framework::Trtllm:
      return (s.tensor == 1 || s.attention_data == 1) && s.sub_batches == 1;
    default:
      return false;
  }
}

bool table_allows(const Task& task, const Deployment& deployment) {
  const auto allows = [&](const serving::Role& role) {
    return !task.framework || table_allows(*task.framework, task.speculation.kind, role);
  };
  return allows(deployment.decode) &&
         (deployment.mode == serving::Mode::Aggregated || allows(deployment.prefill));
}

Enumerated enumerated(const Task& task) {
  Enumerated all;
  for (const Deployment& deployment : test::all_deployments(task)) {
    if (!table_allows(task, deployment)) continue;
    ++all.count;
    Figures figures = evaluate(task, deployment);
    if (!figures.feasible()) continue;
    all.best = std::min(all.best, value_of(task.objective, task.front, figures));
    all.feasible.push_back({deployment, std::move(figures)});
  }
  return all;
}

/// The best deployment; among equals the one with the fewest chips, then the first.
const FrontPoint& best_of(const Task& task, const Enumerated& all) {
  const FrontPoint* best = nullptr;
  for (const FrontPoint& point : all.feasible) {
    if (value_of(task.objective, task.front, point.figures) * (1.0 - kTie) > all.best) continue;
    if (!best || point.figures.chips < best->figures.chips) best = &point;
  }
  return *best;
}

/// Values of the steps, the fastest for a user first.
std::vector<std::pair<double, double>> front_of(const Task& task, Enumerated all) {
  std::sort(all.feasible.begin(), all.feasible.end(),
            [](const auto& a, const auto& b) { return a.figures.tpot < b.figures.tpot; });
  std::vector<std::pair<double, double>> steps;
  for (std::size_t i = 0; i < all.feasible.size();) {
    const double tpot = all.feasible[i].figures.tpot;
    double value = std::numeric_limits<double>::infinity();
    for (; i < all.feasible.size() && all.feasible[i].figures.tpot <= tpot * (1.0 + kTie); ++i) {
      value = std::min(value, value_of(task.objective, task.front, all.feasible[i].figures));
    }
    if (steps.empty() || value < steps.back().second * (1.0 - kTie)) steps.push_back({tpot, value});
  }
  return steps;
}

/// It is proved that nothing fits, unless something does at the low end of a guess at the memory.
void check_without_answer(Task task, const ServingResult& found) {
  task.level = memory::Level::Low;
  const Enumerated low = enumerated(task);
  const bool may_fit = !low.feasible.empty() && std::isfinite(low.best);
  if (!may_fit) {
    CHECK(found.status == SearchStatus::Infeasible);
    CHECK(!found.at_low);
    return;
  }
  CHECK(found.status == SearchStatus::NoSolution);
  REQUIRE(found.at_low);
  CHECK(evaluate(task, found.at_low->deployment).feasible());
}

/// The bound of a deployment without its counts is no more than its value, and its counts may have
/// an answer of this value.
void check_quick_bound(const Task& task, const DeploymentBox& box, std::int64_t x, std::int64_t y,
                       const Figures& figures) {
  const double value = value_of(task.objective, task.front, figures);
  if (!figures.feasible() || !std::isfinite(value)) return;
  const Means means(task.requests);
  const QuickBound bound(task, means, task.objective);
  const auto [decode, prefill] = bound.sides(box);
  CHECK(bound.value(decode, prefill, bound.chips_there(box.decode(), box.prefill())) *
            (1.0 - kRounding) <=
        value);
  CHECK(decode.tpot * (1.0 - kRounding) <= figures.tpot);
  CHECK(decode.chips + prefill.chips <= figures.chips);
  const CountWindow window = bound.window(decode, prefill, value);
  const auto [least, most] = window.range_of_y(static_cast<double>(x));
  CHECK(static_cast<double>(x) >= window.least_x);
  CHECK(least <= static_cast<double>(y));
  CHECK(static_cast<double>(y) <= most);
}

TEST_CASE("bounds without the numbers of replicas are below every deployment") {
  std::mt19937_64 random(41);
  int aggregates = 0, pairs = 0;
  while (aggregates < 20'000 || pairs < 20'000) {
    Task task = test::random_task(random);
    task.objective = static_cast<serving::Objective>(
        random() % (static_cast<unsigned>(serving::Objective::Fullness) + 1));
    const DeploymentSpace space(task, Deadline());
    const auto some = [&](std::size_t size) { return static_cast<std::size_t>(random() % size); };
    for (int i = 0; i < 50 && !space.aggregated().empty(); ++i) {
      const Chain& chain = space.aggregated()[some(space.aggregated().size())];
      if (chain.batches.empty()) continue;
      const std::int64_t y = chain.replicas[some(chain.replicas.size())];
      const Decoding each = chain.decoder->at(chain.batches[some(chain.batches.size())], y);
      check_quick_bound(task, DeploymentBox(space, chain, nullptr), 0, y,
                        aggregated(task, space.means(), {*chain.decoder, y, each}));
      ++aggregates;
    }
    const bool has_pairs = !space.decoders().empty() && !space.prefillers().empty();
    for (int i = 0; i < 50 && has_pairs; ++i) {
      const Chain& chain = space.decoders()[some(space.decoders().size())];
      const PrefillChain& before = space.prefillers()[some(space.prefillers().size())];
      if (chain.batches.empty() || before.batches.empty()) continue;
      const std::int64_t x = before.replicas[some(before.replicas.size())];
      const std::int64_t y = chain.replicas[some(chain.replicas.size())];
      if (!space.holds(before.role(0, x), chain.role(0, y))) continue;
      const Structure& prefill = before.prefiller->structure();
      const Prefilling prefilling = before.at(some(before.batches.size()));
      const Decoding decoding = chain.at(some(chain.batches.size()));
      check_quick_bound(
          task, DeploymentBox(space, chain, &before), x, y,
          disaggregated(task, space.means(), {prefill, x, prefilling},
                        {*chain.decoder, y, decoding},
                        handover(task, space.means(), prefill, chain.decoder->structure())));
      ++pairs;
    }
  }
}

void check_against_enumeration(const Task& task, const Enumerated& all,
                               const ServingSearch& search) {
  const ServingResult found = find_deployment(task, search);
  CHECK(found.deployments == static_cast<double>(all.count));
  if (search.count) CHECK(*found.feasible == static_cast<std::int64_t>(all.feasible.size()));
  // A queue without end is no answer where its time is the objective.
  if (all.feasible.empty() || std::isinf(all.best)) {
    check_without_answer(task, found);
    return;
  }
  REQUIRE(found.status == SearchStatus::Optimal);
  if (task.objective != serving::Objective::Front) {
    CHECK(*found.deployment == best_of(task, all).deployment);
    CHECK(found.lower_bound.in_base_units() <= all.best);
    CHECK(found.lower_bound <= found.cost);
    CHECK(found.gap == relative_gap(found.cost, found.lower_bound));
    CHECK((found.gap == 0.0) == (found.cost == found.lower_bound));
    CHECK(found.gap <= kTie);
    return;
  }
  for (const FrontPoint& point : all.feasible) {
    double shown = std::numeric_limits<double>::infinity();
    for (const FrontPoint& step : found.front) {
      if (step.figures.tpot > point.figures.tpot * (1.0 + kTie)) continue;
      shown = std::min(shown, value_of(task.objective, task.front, step.figures));
    }
    const double value = value_of(task.objective, task.front, point.figures);
    CHECK(relative_gap(Score(shown), Score(value)) <= found.gap * (1.0 + 1e-6));
  }
  CHECK(found.gap <= 2.5 * kTie);
  const auto steps = front_of(task, all);
  REQUIRE(found.front.size() == steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Figures& figures = found.front[i].figures;
    CHECK(figures.tpot == doctest::Approx(steps[i].first).epsilon(1e-8));
    CHECK(value_of(task.objective, task.front, figures) ==
          doctest::Approx(steps[i].second).epsilon(1e-8));
  }
}

TEST_CASE("the best deployment and the front are those of all deployments" *
          doctest::test_suite("worlds")) {
  std::mt19937_64 random(1);
  int with_answer = 0;
  int with_ties = 0;  // that are better by less than counts
  for (int world = 0; world < test::share_of(500); ++world) {
    CAPTURE(world);
    const Task task = test::random_task(random);
    if (test::all_deployments(task).empty()) {
      CHECK_THROWS_AS(find_deployment(task, {}), InputError);
      continue;
    }
    const Enumerated all = enumerated(task);
    for (const int threads : {1, 2, 8}) {
      check_against_enumeration(task, all, {.threads = threads, .count = threads == 1});
    }
    const ServingResult found = find_deployment(task, {});
    with_answer += found.deployment.has_value();
    with_ties += found.status == SearchStatus::Optimal && found.gap > 0.0;
  }
  CHECK(with_answer > test::share_of(150));
  CHECK(with_ties > 0);
}

TEST_CASE("a framework has the best of the deployments that it runs, beside the best of any" *
          doctest::test_suite("slow")) {
  std::mt19937_64 random(6);
  int narrowed = 0, worse = 0;
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    Task task = test::random_task(random);
    const Enumerated of_any = enumerated(task);
    for (const Framework framework : {Framework::Vllm, Framework::Sglang, Framework::Trtllm}) {
      CAPTURE(std::string(name_of(framework)));
      task.framework = framework;
      const Enumerated all = enumerated(task);
      if (all.count == 0) {
        CHECK_THROWS_AS(find_deployment(task, {}), InputError);
        continue;
      }
      narrowed += all.count < of_any.count;
      for (const int threads : {1, 2, 8}) {
        check_against_enumeration(task, all, {.threads = threads, .count = threads == 1});
      }
      const ServingResult found = find_deployment(task, {});
      REQUIRE(found.any_framework.has_value() == !all.feasible.empty());
      if (all.feasible.empty()) continue;
      double gain = all.best / of_any.best - 1.0;
      if (task.objective == serving::Objective::Front) {
        gain = 0.0;
        for (const auto& [tpot, value] : front_of(task, of_any)) {
          double own = serving::kNever;
          for (const auto& [own_tpot, own_value] : front_of(task, all)) {
            if (own_tpot <= tpot * (1.0 + kTie)) own = std::min(own, own_value);
          }
          gain = std::max(gain, own / value - 1.0);
        }
      }
      worse += gain > 0.0;
      const double said = found.any_framework->gain;
      CHECK((said == gain || said == doctest::Approx(gain).epsilon(1e-7)));
    }
  }
  CHECK(narrowed > 200);
  CHECK(worse > 20);
}

/// A stopped search: nothing better than its bound, and no step of a front further than its gap.
void check_stopped(const Task& task, const Enumerated& all, const ServingResult& cut) {
  if (cut.status == SearchStatus::Infeasible) CHECK(all.feasible.empty());
  if (task.objective != serving::Objective::Front) {
    CHECK(cut.lower_bound.in_base_units() <= all.best * (1.0 + 1e-9));
    if (cut.deployment) CHECK(cut.cost.in_base_units() >= all.best * (1.0 - 1e-9));
    return;
  }
  for (const auto& [tpot, value] : front_of(task, all)) {
    double found = std::numeric_limits<double>::infinity();
    for (const FrontPoint& point : cut.front) {
      if (point.figures.tpot > tpot * (1.0 + 1e-9)) continue;
      found = std::min(found, value_of(task.objective, task.front, point.figures));
    }
    CHECK(1.0 - value / found <= cut.gap + 1e-9);
  }
}

TEST_CASE(
    "a hint changes no answer, a stopped search tells a true bound, a resumed one the answer" *
    doctest::test_suite("slow")) {
  std::mt19937_64 random(2);
  int stopped_fronts = 0;
  for (int world = 0; world < 500; ++world) {
    CAPTURE(world);
    const Task task = test::random_task(random);
    const Enumerated all = enumerated(task);
    if (all.count == 0) continue;
    if (!all.feasible.empty()) {
      check_against_enumeration(task, all,
                                {.known = {all.feasible[all.feasible.size() / 2].deployment}});
    }
    for (const std::int64_t nodes : {0, 1, 5, 20}) {
      ServingSearch search;
      search.limits.nodes = nodes;
      const ServingResult cut = find_deployment(task, search);
      check_stopped(task, all, cut);
      stopped_fronts += cut.stopped_by != StopReason::None && !cut.front.empty();
      // What a stopped search knew goes into the next one, on other threads.
      for (const int threads : {1, 2, 8}) {
        ServingSearch resumed{.threads = threads, .before = cut.stats};
        if (cut.deployment) resumed.known = {*cut.deployment};
        for (const FrontPoint& point : cut.front) resumed.known.push_back(point.deployment);
        check_against_enumeration(task, all, resumed);
      }
    }
  }
  CHECK(stopped_fronts > 20);
}

TEST_CASE("what is told before a limit is in the result") {
  std::mt19937_64 random(5);
  int told = 0, cut_short = 0;
  for (int world = 0; world < 200; ++world) {
    CAPTURE(world);
    const Task task = test::random_task(random);
    if (test::all_deployments(task).empty()) continue;
    std::atomic<bool> stop = false;
    ServingSearch search;
    search.limits.deadline = Deadline(Seconds::infinity(), &stop);
    std::optional<serving::Deployment> last;
    // The first answer stops the search while the whole space is built.
    search.on_incumbent = [&](const Progress&, const serving::Deployment& deployment) {
      last = deployment;
      stop = true;
    };
    const ServingResult found = find_deployment(task, search);
    if (!last) continue;
    ++told;
    REQUIRE(found.deployment.has_value());
    // The last answer of the whole search may leave nothing that is better.
    const bool is_proved = found.gap == 0.0;
    CHECK(found.status == (is_proved ? SearchStatus::Optimal : SearchStatus::Feasible));
    cut_short += !is_proved;
    CHECK(found.stopped_by == StopReason::Signal);
    CHECK(*found.deployment == *last);
    CHECK(found.figures->feasible());
  }
  CHECK(told > 50);
  CHECK(cut_short > 40);
}

TEST_CASE("further structures come in the order of their best deployments") {
  std::mt19937_64 random(3);
  for (int world = 0; world < 60; ++world) {
    CAPTURE(world);
    Task task = test::random_task(random);
    if (task.objective == serving::Objective::Front)
      task.objective = serving::Objective::Throughput;
    if (test::all_deployments(task).empty()) continue;
    const ServingResult found = find_deployment(task, {.top = 3});
    if (!found.deployment) continue;
    Score before = found.cost;
    for (const FoundDeployment& next : found.alternatives) {
      CHECK(next.cost >= before * (1.0 - 1e-9));
      CHECK(!(next.deployment->mode == found.deployment->mode &&
              next.deployment->decode.structure == found.deployment->decode.structure &&
              next.deployment->prefill.structure == found.deployment->prefill.structure));
      before = next.cost;
    }
  }
}

TEST_CASE("of an infeasible question each remedy helps, and less of it does not" *
          doctest::test_suite("slow")) {
  std::mt19937_64 random(4);
  int remedies = 0;
  std::array<int, kBroken> of_limit{};
  for (int world = 0; world < 1500; ++world) {
    CAPTURE(world);
    const Task task = test::random_task(random);
    if (test::all_deployments(task).empty()) continue;
    const ServingResult found = find_deployment(task, {});
    if (found.deployment) continue;
    for (const Remedy& remedy : found.remedies) {
      ++remedies;
      CAPTURE(std::string(name_of(remedy.limit)));
      CAPTURE(std::string(name_of(remedy.deployment.mode)));
      const auto status_with = [&](double value) {
        Task changed = task;
        switch (remedy.limit) {
          case Broken::Tpot:
            changed.limits.tpot = Seconds(value);
            break;
          case Broken::Ttft:
            changed.limits.ttft = Seconds(value);
            break;
          case Broken::E2e:
            changed.limits.e2e = Seconds(value);
            break;
          case Broken::Cost:
            changed.limits.cost = value;
            break;
          case Broken::Rate:
            changed.rate = value;
            break;
          case Broken::Memory:
            for (Pool& pool : changed.pools) {
              Bytes& capacity = pool.machine.memory[0].capacity;
              const double own = capacity.in_base_units();
              capacity = Bytes(own == remedy.given ? value : own / remedy.given * value);
            }
            break;
          default:
            FAIL("no such remedy");
        }
        return find_deployment(changed, {}).status;
      };
      ++of_limit[static_cast<std::size_t>(remedy.limit)];
      CHECK(status_with(remedy.enough) == SearchStatus::Optimal);
      double less = std::nextafter(remedy.enough, 0.0);
      if (remedy.limit == Broken::Memory) less = remedy.enough - 1.0;
      if (remedy.limit == Broken::Rate) {
        less = remedy.enough * (remedy.enough < remedy.given ? 1.0 + 1.1e-6 : 1.0 - 1.1e-6);
      }
      CHECK(status_with(less) != SearchStatus::Optimal);
    }
  }
  CHECK(remedies > 50);
  for (const Broken limit :
       {Broken::Rate, Broken::Memory, Broken::Tpot, Broken::Ttft, Broken::E2e, Broken::Cost}) {
    CAPTURE(std::string(name_of(limit)));
    CHECK(of_limit[static_cast<std::size_t>(limit)] > 0);
  }
}

/// Chips with energies in place of powers.
void state_energies(Task& task, std::uint64_t seed) {
  for (Pool& pool : task.pools) {
    EnergyRates& rates = pool.machine.energy;
    rates = {.idle = Watts(seed % 3 == 0 ? 1.0 : 200.0),
             .host = Watts(seed % 2 == 0 ? 0.0 : 50.0),
             .memory = JoulesPerByte(seed % 5 == 0 ? 1e-9 : 50e-12),
             .link = JoulesPerByte(11e-12)};
    rates.flop.of[static_cast<std::size_t>(Math::Bf16)] = JoulesPerFlop(0.6e-12);
    rates.flop.of[static_cast<std::size_t>(Math::Fp8)] = JoulesPerFlop(0.3e-12);
    if (seed % 4 > 1) rates.cap = rates.idle + Watts(seed % 4 == 2 ? 1.0 : 100.0);
    // One of several pools may keep its constant power.
    if (seed % 6 != 0 || &pool != &task.pools.back()) pool.power = {};
  }
  task.objective = seed % 2 == 0 ? serving::Objective::Energy : serving::Objective::Edp;
}

TEST_CASE("the deployment of least energy is found, and of least energy times delay") {
  int feasible = 0, capped = 0, apart = 0;
  std::mt19937_64 random(67);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Task task = test::random_task(random);
    state_energies(task, seed);
    if (test::all_deployments(task).empty()) continue;
    const Enumerated all = enumerated(task);
    check_against_enumeration(task, all, {.threads = 1});
    if (all.feasible.empty()) continue;
    const FrontPoint& best = best_of(task, all);
    ++feasible;
    apart += best.deployment.mode == serving::Mode::Disaggregated;
    capped += best.figures.energy.clock < 1.0;
    CHECK(best.figures.joule_per_token > 0.0);
  }
  CHECK(feasible > 20);
  CHECK(capped > 2);
  CHECK(apart > 0);
}

}  // namespace
}  // namespace dfsearch
