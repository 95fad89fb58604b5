// Work of plans against counts by hand, and the longest step of a value against the value.

#include "model/training/step_energy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "model/training/evaluate.hpp"
#include "support/published_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

auto about_energy(double value) { return doctest::Approx(value).epsilon(1e-12); }

/// A picojoule a FLOP, a nanojoule a byte of memory, a millijoule a byte of links.
EnergyRates round_rates() {
  EnergyRates rates{.idle = Watts(100), .memory = JoulesPerByte(1e-9), .link = JoulesPerByte(1e-3)};
  rates.flop.of[static_cast<std::size_t>(Math::Bf16)] = JoulesPerFlop(1e-12);
  return rates;
}

Plan plan_on(const Task& task, Degrees degrees) {
  Plan plan{.degrees = degrees};
  plan.layers.assign(static_cast<std::size_t>(degrees[Role::Pipeline]),
                     task.model.layers / degrees[Role::Pipeline]);
  plan.network = *usual_network(task.machine, degrees);
  return plan;
}

Energy energy_of_plan(const Task& task, const Plan& plan) {
  const auto verdict = evaluate(task, blocks_of(task), plan);
  REQUIRE(std::holds_alternative<Cost>(verdict));
  return *std::get<Cost>(verdict).energy;
}

Task small_task(std::int64_t chips) {
  Task task = test::training_task(test::gpt(12288, 4, 96, 51200), 2048, chips);
  task.global_batch = 16;
  task.machine.energy = round_rates();
  return task;
}

TEST_CASE("replicas send what an all-reduce of all gradients sends") {
  const Task task = small_task(8);
  Degrees degrees;
  degrees[Role::Data] = 8;
  Plan plan = plan_on(task, degrees);
  const Energy energy = energy_of_plan(task, plan);
  const Profiles profiles = profiles_of(task, blocks_of(task), plan, {});
  double parameters = of(profiles, Part::First).parameters + of(profiles, Part::Last).parameters +
                      4.0 * of(profiles, Part::Layer).parameters;
  if (task.model.tied) parameters -= of(profiles, Part::Last).head_parameters;
  CHECK(energy.work.links.in_base_units() ==
        about_energy(8 * 2 * 7.0 / 8.0 * task.bytes.sent * parameters * 1e-3));
  CHECK(energy.idle == 8.0 * Watts(100) * energy.time);
  // Halves of an all-reduce, of gradients and of weights.
  plan.zero = 1;
  CHECK(energy_of_plan(task, plan).work.links.in_base_units() ==
        about_energy(8 * 7.0 / 8.0 * (task.bytes.sent + 2.0) * parameters * 1e-3));
}

TEST_CASE("products take the same energy however they are divided, and again what is done again") {
  const Task task = small_task(8);
  Degrees data;
  data[Role::Data] = 8;
  Degrees tensor;
  tensor[Role::Tensor] = 8;
  Degrees pipeline;
  pipeline[Role::Pipeline] = 4;
  pipeline[Role::Tensor] = 2;
  const double least = 1e-12 * model_flops(task).in_base_units();
  for (const Degrees& degrees : {data, tensor, pipeline}) {
    Plan plan = plan_on(task, degrees);
    plan.layout = TensorLayout::LeastKept;
    const double math = energy_of_plan(task, plan).work.math.in_base_units();
    CHECK(math >= least);
    CHECK(math < 1.05 * least);
    plan.recompute = Recompute::Full;
    const double again = energy_of_plan(task, plan).work.math.in_base_units();
    // A third of the products of the layers, which are all but the head.
    CHECK(again > 1.2 * math);
    CHECK(again < 4.0 / 3.0 * math);
  }
}

TEST_CASE("a stage hands on its output and takes back the gradient of it") {
  Task task = small_task(4);
  Degrees degrees;
  degrees[Role::Pipeline] = 4;
  const Energy energy = energy_of_plan(task, plan_on(task, degrees));
  const double value = 2.0 * 2048 * 12288;
  // The first and the last stage add up the gradient of the tied embedding and head.
  const double tied = 2.0 * task.bytes.sent * 51200 * 12288;
  CHECK(energy.work.links.in_base_units() == about_energy((16 * 3 * 2 * value + tied) * 1e-3));
}

TEST_CASE("no step is longer than the longest of its value, and that has it") {
  std::mt19937_64 random(11);
  const auto draw = [&random](double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
  };
  Task task = small_task(8);
  for (int seed = 0; seed < 3000; ++seed) {
    EnergyRates& rates = task.machine.energy;
    rates.idle = Watts(seed % 5 == 0 ? 0.0 : draw(1, 1000));
    rates.host = Watts(seed % 3 == 0 ? 0.0 : draw(1, 300));
    rates.cap = seed % 2 == 0 ? Watts::infinity() : rates.idle + Watts(draw(1, 1000));
    task.objective = seed % 4 < 2 ? Objective::Energy : Objective::Edp;
    const EnergyWork work{.math = Joules(draw(1, 1e6)), .memory = {}, .links = {}};
    const Seconds time(draw(1e-3, 1e3));
    const Score value = objective_value(task, time, work);
    CHECK(objective_floor(task, time, work) <= value);
    const Seconds longest = longest_step(task, work, value);
    CHECK(longest >= time);
    if (longest < Seconds::infinity()) {
      CHECK(objective_value(task, 1.001 * longest, work) > value);
    } else {
      CHECK(rates.idle + rates.host == Watts());
    }
    CHECK(objective_value(task, time, {.math = 1.01 * work.math}) > value);
    // Never below the least of all clocks.
    const Joules bound = energy_bound(rates, 8.0 * time, work.sum());
    CHECK(energy_of(rates, 8, time, work).sum() >= bound * (1.0 - 1e-12));
  }
}

}  // namespace
}  // namespace dfsearch::training
