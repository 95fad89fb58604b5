// Properties of every answer, whatever its figures: leaving a choice open never makes it worse, nor
// does more of anything; what is said to help helps; what needs least needs least.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "engine/training/find_plan.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/stages.hpp"
#include "model/training/step.hpp"
#include "support/training_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch::training {
namespace {

/// The least step; nothing if no plan fits.
std::optional<double> least(const Task& task) {
  const PlanResult found = find_plan(task, {});
  if (!found.cost) return std::nullopt;
  REQUIRE(found.status == SearchStatus::Optimal);
  return found.cost->step_time.in_base_units();
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution(least, most)(random_);
  }

 private:
  std::mt19937_64 random_;
};

/// More of one thing that a machine has; says what.
std::string improve(Task& task, Draws& draws) {
  Machine& machine = task.machine;
  const double more = 1.0 + 0.25 * static_cast<double>(draws.pick(1, 12));
  switch (draws.pick(0, 7)) {
    case 0:
      machine.memory[0].capacity = machine.memory[0].capacity * more;
      return "capacity";
    case 1:
      machine.memory[0].bandwidth = machine.memory[0].bandwidth * more;
      return "bandwidth";
    case 2:
      machine.matrix.peak = machine.matrix.peak * more;
      return "peak of products";
    case 3:
      machine.vector.peak = machine.vector.peak * more;
      return "peak of other kernels";
    case 4:
      for (NetworkDimension& d : machine.network) d.bandwidth = d.bandwidth * more;
      return "links";
    case 5:
      for (NetworkDimension& d : machine.network) d.latency = d.latency / more;
      return "latencies";
    case 6:
      if (machine.second_memory()) machine.memory[1].bandwidth = machine.memory[1].bandwidth * more;
      return "bandwidth of the second memory";
    default:
      if (machine.second_memory()) machine.memory[1].capacity = machine.memory[1].capacity * more;
      return "capacity of the second memory";
  }
}

/// One decision given that was open; says which.
std::string pin(Task& task, Draws& draws) {
  Choices& choices = task.choices;
  switch (draws.pick(0, 7)) {
    case 0:
      if (choices.recomputes.empty())
        choices.recomputes = {test::kRecomputes[static_cast<std::size_t>(2 * draws.pick(0, 1))]};
      return "recompute";
    case 1:
      if (choices.zeros.empty()) choices.zeros = {static_cast<int>(draws.pick(0, 3))};
      return "zero";
    case 2:
      if (choices.schedules.empty()) {
        choices.schedules = {kSchedules[static_cast<std::size_t>(draws.pick(0, 3))]};
      }
      return "schedule";
    case 3:
      if (choices.micro_batches.empty()) choices.micro_batches = {draws.pick(1, 3)};
      return "micro-batch";
    case 4:
      if (choices.layouts.empty()) {
        choices.layouts = {draws.pick(0, 1) == 0
                               ? TensorLayout::LeastSent
                               : front_layout(static_cast<int>(draws.pick(1, 3)))};
      }
      return "layout";
    case 5:
      choices.degrees[static_cast<std::size_t>(Role::Pipeline)] = {.values = {draws.pick(1, 4)}};
      return "pipeline";
    default: {
      const std::int64_t stages = draws.pick(1, std::min<std::int64_t>(4, task.model.layers));
      std::int64_t left = task.model.layers;
      choices.layers.clear();
      for (std::int64_t i = 1; i < stages; ++i) {
        choices.layers.push_back(draws.pick(0, left));
        left -= choices.layers.back();
      }
      choices.layers.push_back(left);
      return "layers";
    }
  }
}

/// The least step that is proved; nothing if no plan fits, or with a stack at the low ends alone.
std::optional<double> proved(const Task& task) {
  const PlanResult found = find_plan(task, {});
  if (!found.cost || found.status != SearchStatus::Optimal) return std::nullopt;
  return found.cost->step_time.in_base_units();
}

/// The task with one choice given that was open, for every value of it that a config may have.
std::vector<std::pair<std::string, Task>> pinned_tasks(const Task& task) {
  std::vector<std::pair<std::string, Task>> all;
  const auto add = [&](const std::string& what, const auto& put) {
    put(all.emplace_back(what, task).second.choices);
  };
  const Choices& open = task.choices;
  for (unsigned each = 0; each < static_cast<unsigned>(Recompute::Unknown); ++each) {
    const auto value = static_cast<Recompute>(each);
    const bool is_accepted = task.stack ? task.stack->stack.computes_again(value)
                                        : value <= Recompute::Selective || value == Recompute::Full;
    if (!open.recomputes.empty() || !is_accepted) continue;
    add(name_of(value), [&](Choices& choices) { choices.recomputes = {value}; });
  }
  for (const int value : {0, 1, 2, 3}) {
    if (!open.zeros.empty()) break;
    add("ZeRO " + std::to_string(value), [&](Choices& choices) { choices.zeros = {value}; });
  }
  for (const Schedule value : kSchedules) {
    if (!open.schedules.empty() || (task.stack && value == Schedule::ZeroBubble)) continue;
    add(name_of(value), [&](Choices& choices) { choices.schedules = {value}; });
  }
  for (std::int64_t value = 1; value <= 4; ++value) {
    if (!open.chunks.empty()) break;
    add("chunks", [&](Choices& choices) { choices.chunks = {value}; });
  }
  for (std::int64_t value = 1; value <= task.global_batch; ++value) {
    if (!open.micro_batches.empty()) break;
    add("micro-batch", [&](Choices& choices) { choices.micro_batches = {value}; });
  }
  for (const TensorLayout value :
       {TensorLayout::LeastSent, TensorLayout::LeastKept, TensorLayout::WholeExperts}) {
    if (!open.layouts.empty() || (!task.stack && value == TensorLayout::WholeExperts)) continue;
    add(name_of(value), [&](Choices& choices) { choices.layouts = {value}; });
  }
  for (const Role role : kRoles) {
    const auto r = static_cast<std::size_t>(role);
    if (!open.degrees[r].values.empty()) continue;
    for (const std::int64_t value : divisors(task.machine.chips)) {
      add(name_of(role), [&](Choices& choices) { choices.degrees[r] = {.values = {value}}; });
    }
  }
  for (int bits = 0; bits < 8 && !task.stack && !open.offload; ++bits) {
    if (!task.machine.second_memory()) break;
    add("offload", [&](Choices& choices) {
      choices.offload = Offload{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    });
  }
  return all;
}

TEST_CASE("no value of any choice is better than the choice left open" *
          doctest::test_suite("worlds")) {
  int without = 0, as_good = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(150U); ++seed) {
    Task task =
        seed % 3 == 0 ? test::random_training_task(seed) : test::random_task_with_stack(seed);
    if (task.stack && seed % 2 == 0) {
      task.stack->stack.recompute = {Recompute::None, Recompute::Full,
                                     Recompute::EverySecondProduct};
      for (const auto& [name, module] : memory::words(memory::Module{})) {
        task.stack->stack.recompute.push_back(memory::listed(module));
      }
    }
    CAPTURE(seed);
    const std::optional<double> free = proved(task);
    for (const auto& [what, pinned] : pinned_tasks(task)) {
      CAPTURE(what);
      const std::optional<double> given = proved(pinned);
      without += !given;
      if (!given) continue;
      REQUIRE(free);
      CHECK(*free <= *given * (1.0 + 1e-12));
      as_good += *free == *given;
    }
  }
  CHECK(without > 0);
  CHECK(as_good > 0);
}

TEST_CASE("no plan is better for a decision that is given, nor worse for more of anything" *
          doctest::test_suite("slow")) {
  int worse = 0, better = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const std::optional<double> free = least(task);
    Draws draws(seed);
    for (int i = 0; i < 2; ++i) {
      Task pinned = task;
      const std::string what = pin(pinned, draws);
      CAPTURE(what);
      const std::optional<double> given = least(pinned);
      if (!given) {
        ++without;
      } else {
        REQUIRE(free);
        CHECK(*free <= *given * (1.0 + 1e-12));
        worse += *free < *given;
      }
      Task improved = task;
      const std::string more = improve(improved, draws);
      CAPTURE(more);
      const std::optional<double> with_more = least(improved);
      if (!free) continue;
      REQUIRE(with_more);
      CHECK(*with_more <= *free * (1.0 + 1e-12));
      better += *with_more < *free;
    }
  }
  CHECK(worse > 500);
  CHECK(better > 500);
  CHECK(without > 100);
}

/// Calls `found` with every spread of the layers.
template <class Found>
void all_spreads(std::int64_t stages, std::int64_t left, std::vector<std::int64_t>& layers,
                 const Found& found) {
  if (static_cast<std::int64_t>(layers.size()) == stages - 1) {
    layers.push_back(left);
    found(layers);
    layers.pop_back();
    return;
  }
  for (std::int64_t count = 0; count <= left; ++count) {
    layers.push_back(count);
    all_spreads(stages, left - count, layers, found);
    layers.pop_back();
  }
}

/// All spreads that a shape may have.
template <class Found>
void spreads_of(const Task& task, const Plan& shape, const Found& found) {
  const std::int64_t stages = shape.degrees[Role::Pipeline];
  std::vector<std::int64_t> layers = task.choices.layers;
  if (!layers.empty()) {
    found(layers);
  } else {
    all_spreads(stages, task.model.layers, layers, [&](const std::vector<std::int64_t>& each) {
      if (shape.chunks == 1 || chunk_slots(each, shape.chunks)) found(each);
    });
  }
}

/// Calls `found` with the shapes of all plans, and their models.
template <class Found>
void all_shapes(const Task& task, const Found& found) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch);
          for (const Plan& shape : space.shapes(degrees, micro_batch, layout)) {
            const StepModel model(task, shape, profiles, space.blocks().order);
            found(space, shape, model);
          }
        }
      }
    }
  }
}

TEST_CASE("the layers of the stages are the best of all spreads, by every schedule" *
          doctest::test_suite("slow")) {
  int several = 0, compared = 0;
  std::array<int, kSchedules.size()> by_schedule{};
  for (std::uint64_t seed = 3000; seed < 3200; ++seed) {
    CAPTURE(seed);
    Task task = test::random_training_task(seed);
    task.choices.layers.clear();
    if (seed % 3 == 0) task.choices.schedules = {Schedule::GPipe};
    int shapes = 0;
    all_shapes(task, [&](const PlanSpace& space, const Plan& shape, const StepModel& model) {
      if (shape.degrees[Role::Pipeline] == 1 || ++shapes % 5 != 1) return;
      for (const std::vector<Division>& network : space.networks(shape.degrees)) {
        const Groups groups(task.machine, network);
        std::optional<double> best;
        int fitting = 0;
        spreads_of(task, shape, [&](const std::vector<std::int64_t>& layers) {
          const StepModel::Detail detail = model.detail(groups, layers);
          if (!detail.fits) return;
          ++fitting;
          const double step = detail.step.in_base_units();
          if (!best || step < *best) best = step;
          const StepParts& p = detail.parts;
          const Seconds sum = p.compute + p.recompute + p.tensor + p.context + p.expert +
                              p.pipeline + p.bubble + p.data + p.optimizer + p.offload;
          CHECK(sum.in_base_units() == doctest::Approx(step).epsilon(1e-9));
        });
        const auto found = model.step(groups);
        REQUIRE(found.has_value() == best.has_value());
        if (!found) continue;
        CHECK(found->step.in_base_units() == doctest::Approx(*best).epsilon(1e-12));
        CHECK(model.detail(groups, found->layers).step == found->step);
        several += fitting > 1;
        ++by_schedule[static_cast<std::size_t>(shape.schedule)];
        ++compared;
      }
    });
  }
  CHECK(compared > 1000);
  CHECK(several > 500);
  for (const int count : by_schedule) CHECK(count > 20);
}

TEST_CASE("plans are counted as one by one, in every spread and network" *
          doctest::test_suite("worlds")) {
  std::int64_t all = 0, all_fitting = 0, meshes = 0, at_low = 0;
  int worlds = 0;
  for (std::uint64_t seed = 12000; worlds < test::share_of(300); ++seed) {
    CAPTURE(seed);
    Task task = seed % 3 == 0   ? test::random_training_task(seed)
                : seed % 3 == 1 ? test::random_task_on_mesh(seed)
                                : test::random_task_with_stack(seed);
    const PlanResult found = find_plan(task, {.threads = seed % 2 == 0 ? 1 : 2, .count = true});
    // If nothing fits at typical constants, the answer is the best plan at the low ends.
    if (found.decided != task.decide) {
      CHECK(task.stack.has_value());
      CHECK(task.decide == memory::Level::Typical);
      CHECK(found.status != SearchStatus::Optimal);
      at_low += 1;
      task.decide = found.decided;
    }
    // If nothing does there either, it is the best one with options that hold less.
    if (found.assumed.any()) CHECK(found.status != SearchStatus::Optimal);
    task = with(found.assumed, task);
    std::int64_t plans = 0, fitting = 0;
    all_shapes(task, [&](const PlanSpace& space, const Plan& shape, const StepModel& model) {
      for (const std::vector<Division>& network : space.networks(shape.degrees)) {
        ++plans;
        const Groups groups(task.machine, network);
        bool fits = false;
        spreads_of(task, shape, [&](const std::vector<std::int64_t>& layers) {
          fits = fits || model.detail(groups, layers).fits;
        });
        fitting += fits;
      }
    });
    ++worlds;
    CHECK(found.candidates == plans);
    CHECK(found.feasible == fitting);
    CHECK(found.plan.has_value() == (fitting > 0));
    all += plans;
    all_fitting += fitting;
    meshes += seed % 3 == 1 && plans > 0;
  }
  CHECK(all_fitting > test::share_of(1000));
  CHECK(all - all_fitting > test::share_of(1000));
  CHECK(meshes > test::share_of(50));
  CHECK(at_low > test::share_of(3));
}

/// Applies a remedy to a task, and removes the choices that have to go.
Task with_remedy(Task task, const Remedy& remedy) {
  Choices& choices = task.choices;
  const Plan& plan = remedy.plan;
  if (remedy.role) {
    choices.degrees[static_cast<std::size_t>(*remedy.role)] = {
        .values = {plan.degrees[*remedy.role]}};
    if (remedy.with_data) {
      choices.degrees[static_cast<std::size_t>(Role::Data)] = {.values = {plan.degrees.replicas()}};
    }
  }
  if (remedy.without_layers) choices.layers.clear();
  if (remedy.key == "layout") choices.layouts = {plan.layout};
  if (remedy.key == "recompute") choices.recomputes = {plan.recompute};
  if (remedy.key == "zero") choices.zeros = {plan.zero};
  if (remedy.key == "schedule") {
    choices.schedules = {plan.schedule};
    choices.chunks = {plan.chunks};
  }
  if (remedy.key == "offload") choices.offload = plan.offload;
  if (remedy.key == "layers") choices.layers = plan.layers;
  if (remedy.key == "micro_batch") choices.micro_batches = {plan.micro_batch};
  return task;
}

TEST_CASE("what is said to help helps, and the plan that is told needs least of all" *
          doctest::test_suite("slow")) {
  int infeasible = 0, remedies = 0, pinned_networks = 0;
  for (std::uint64_t seed = 5000; seed < 11000; ++seed) {
    CAPTURE(seed);
    Task task = test::random_training_task(seed);
    Draws draws(seed);
    task.machine.memory[0].capacity = task.machine.memory[0].capacity * 0.5;
    for (int i = 0; i < 3; ++i) pin(task, draws);
    if (draws.pick(0, 2) == 0) {
      task.choices.degrees[static_cast<std::size_t>(Role::Data)] = {.values = {draws.pick(1, 2)}};
    }
    for (std::size_t d = 0; d < task.machine.network.size(); ++d) {
      task.choices.network.push_back(
          draws.pick(0, 3) == 0 ? std::optional(kRoles[static_cast<std::size_t>(draws.pick(0, 4))])
                                : std::nullopt);
    }
    const PlanResult found = find_plan(task, {});
    if (found.plan || !found.misfit) continue;
    ++infeasible;
    for (const Remedy& remedy : found.misfit->remedies) {
      CAPTURE(remedy.key);
      CHECK(find_plan(with_remedy(task, remedy), {}).plan.has_value());
      ++remedies;
      pinned_networks += std::any_of(task.choices.network.begin(), task.choices.network.end(),
                                     [](const auto& role) { return role.has_value(); });
    }
    if (task.machine.second_memory() || seed % 16 != 0) continue;
    double needed = std::numeric_limits<double>::infinity();
    all_shapes(task, [&](const PlanSpace& space, const Plan& shape, const StepModel& model) {
      const auto networks = space.networks(shape.degrees);
      if (networks.empty()) return;
      const Groups groups(task.machine, networks.front());
      spreads_of(task, shape, [&](const std::vector<std::int64_t>& layers) {
        needed = std::min(needed, model.detail(groups, layers).memory.total().in_base_units());
      });
    });
    CHECK(found.misfit->misfit.memory.total().in_base_units() == needed);
  }
  CHECK(infeasible > 200);
  CHECK(remedies > 100);
  CHECK(pinned_networks > 20);
}

}  // namespace
}  // namespace dfsearch::training
