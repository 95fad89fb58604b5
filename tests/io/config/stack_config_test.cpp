// Plans beside a stack: which keys count, which are refused, and the bytes of the states.

#include <doctest/doctest.h>

#include <string>

#include "io/config/plan_configs.hpp"
#include "model/training/memory.hpp"
#include "model/training/profile.hpp"

namespace dfsearch {
namespace {

using test::config_of;
using test::Overrides;
using training::Task;

constexpr const char* kWithStack = R"(workload: {model: llama3_8b, global_batch: 128}
system: {from: h100_dgx, chips: 64}
execution: {stack: te, chip: h100_80gb}
training: {zero: 1}
)";

Task stack_task(const Overrides& overrides) { return config_of(kWithStack, overrides).task; }

/// The memory of a chip of the only stage; 2 chips divide the tensors, 32 the samples.
training::MemoryUse memory_of(const Task& task, int zero) {
  training::Plan plan;
  plan.zero = zero;
  plan.degrees[training::Role::Tensor] = 2;
  plan.degrees[training::Role::Data] = 32;
  const training::Profiles profiles =
      training::stack_profiles(task, plan.degrees, plan.layout, plan.micro_batch);
  const training::StageContent all{.layers = task.model.layers, .first = true, .last = true};
  return training::stage_memory(task, plan, profiles, all, 0, 4);
}

TEST_CASE("states beside a stack are those that its software is known to keep") {
  // nanotron takes 20 bytes a weight, with a divided optimizer 10 + 12/n.
  const Task task = stack_task({"execution.stack=nanotron"});
  const auto states_of = [](const training::MemoryUse& use) {
    return (use.weights + use.gradients + use.optimizer) / use.weights * 2.0;
  };
  CHECK(states_of(memory_of(task, 0)) == doctest::Approx(20.0));
  CHECK(states_of(memory_of(task, 1)) == doctest::Approx(10.0 + 12.0 / 32.0));
}

TEST_CASE("states of more bytes never need less memory beside a stack") {
  for (const int zero : {0, 1, 2, 3}) {
    for (const char* key : {"training.optimizer", "training.gradient", "training.states.moments",
                            "training.states.weight", "execution.stack.states.master"}) {
      Bytes before{};
      for (const double bytes : {1.0, 2.0, 4.0, 8.5, 14.0, 20.0, 64.0}) {
        CAPTURE(zero);
        CAPTURE(key);
        CAPTURE(bytes);
        const bool has_unit = std::string(key).find("states") == std::string::npos;
        const training::MemoryUse use = memory_of(
            stack_task({std::string(key) + "=" + std::to_string(bytes) + (has_unit ? " B" : "")}),
            zero);
        CHECK(use.gradients >= Bytes{});
        CHECK(use.total() > before);
        before = use.total();
      }
    }
  }
}

TEST_CASE("a list of modules is one choice, and of other words one of each") {
  using training::Recompute;
  const auto choices = [](const char* given, const char* stack = "te") {
    return stack_task({std::string("execution.stack=") + stack,
                       std::string("training.recompute=") + given})
        .choices.recomputes;
  };
  CHECK(choices("[mlp, layernorm]") ==
        std::vector{listed(memory::Module::Mlp) | listed(memory::Module::Norms)});
  CHECK(choices("[core_attn]") == std::vector{Recompute::Selective});
  CHECK(choices("[none, full, op_sac]", "titan") ==
        std::vector{Recompute::None, Recompute::Full, Recompute::EverySecondProduct});
}

TEST_CASE("what a chip's driver shows counts, unless a file of one's own has a capacity") {
  const auto capacity = [](const Overrides& overrides) {
    return stack_task(overrides).machine.memory[0].capacity.in_base_units();
  };
  constexpr double kGib = 1073741824.0;
  CHECK(capacity({}) == doctest::Approx(79.15 * kGib));
  CHECK(capacity({"execution.chip=h100_96gb_500w"}) == doctest::Approx(95.0 * kGib));
  CHECK(capacity({"execution.chip.visible=50 GB"}) == doctest::Approx(50e9));
  CHECK(capacity({"system.memory.capacity=40 GB"}) == doctest::Approx(40e9));
}

}  // namespace
}  // namespace dfsearch
