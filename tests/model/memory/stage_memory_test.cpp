// Properties of the memory of a stage in random worlds with a stack, at each level.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "model/memory/levels.hpp"
#include "model/memory/trained.hpp"
#include "model/training/memory.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::memory {
namespace {

using training::Plan;
using training::Profiles;
using training::Role;
using training::StageContent;
using training::Task;

/// A world with its plan, of one stage.
struct World {
  explicit World(std::uint64_t seed) : task(test::random_task_with_stack(seed)) {
    plan.zero = static_cast<int>(seed % 4);
    plan.degrees[Role::Tensor] = seed % 3 == 0 && task.model.heads % 2 == 0 ? 2 : 1;
    plan.degrees[Role::Data] = 1 + static_cast<std::int64_t>(seed / 4 % 2);
    plan.recompute = task.stack->stack.recompute[seed % task.stack->stack.recompute.size()];
    task.stack->stack.software.recompute_layers = static_cast<std::int64_t>(seed / 8 % 3);
    task.stack->stack.software.offload_layers = static_cast<std::int64_t>(seed / 24 % 3);
    profiles = training::stack_profiles(task, plan.degrees, plan.layout, 1);
    const training::LayerOrder order = training::layer_order(task.model);
    all = {.layers = order.layers, .other_layers = order.other_layers, .first = true, .last = true};
  }
  [[nodiscard]] StageMemory at(Level level, const StageContent& content) const {
    return training::memory_at(task, plan, profiles, content, 0, 2, level);
  }

  Task task;
  Plan plan;
  Profiles profiles;
  StageContent all;
};

TEST_CASE("higher ends of constants need more, and moments are sums of parts") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const World world(seed);
    double before = 0.0;
    for (const Level level : kLevels) {
      const StageMemory held = world.at(level, world.all);
      CHECK(held.device() >= before);
      CHECK(held.fragments >= 0.0);
      const double largest = held.moments[static_cast<std::size_t>(held.moment)];
      for (const double moment : held.moments) CHECK(moment <= largest);
      before = held.device();
    }
  }
}

TEST_CASE("a layer more never needs less with a stack") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const World world(seed);
    for (const Level level : kLevels) {
      for (std::int64_t dense = 0; dense <= world.all.layers; ++dense) {
        for (std::int64_t other = 0; other <= world.all.other_layers; ++other) {
          const StageContent content{.layers = dense, .other_layers = other, .first = true};
          const double needed = world.at(level, content).device();
          for (const auto& [a, b] : {std::pair(dense + 1, other), std::pair(dense, other + 1)}) {
            if (a > world.all.layers || b > world.all.other_layers) continue;
            const StageContent more{.layers = a, .other_layers = b, .first = true};
            CHECK(world.at(level, more).device() >= needed);
          }
        }
      }
    }
  }
}

TEST_CASE("all that is computed again is kept least, and nothing of it most") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const World world(seed);
    for (const training::BlockProfile& block : world.profiles) {
      const LayerMemory& layer = block.work.memory;
      if (!(layer.all.bytes > 0.0)) continue;
      const auto kept = [&](Recompute recompute) {
        const Amount amount = layer.kept(recompute);
        CHECK(amount.bytes >= 0.0);
        CHECK(amount.routed >= 0.0);
        return amount.bytes + amount.routed;
      };
      const double full = kept(Recompute::Full), none = kept(Recompute::None);
      Recompute some = Recompute::None;
      double before = none;
      for (const auto& [name, module] : words(Module{})) {
        some = some | listed(module);
        CHECK(kept(listed(module)) <= none);
        CHECK(kept(some) <= before);
        CHECK(kept(some) >= full);
        before = kept(some);
      }
      CHECK(kept(Recompute::EverySecondProduct) >= full);
    }
  }
}

TEST_CASE("layers computed again whole are kept as full, and those on the host not at all") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    World world(seed);
    world.plan.recompute = Recompute::None;
    stack::Software& software = world.task.stack->stack.software;
    const std::int64_t layers = world.all.all_layers();
    const auto number = static_cast<double>(layers);
    const auto activations = [&](std::int64_t again, std::int64_t offloaded) {
      software.recompute_layers = again;
      software.offload_layers = offloaded;
      // Without the ends, which keep their inputs.
      StageContent content = world.all;
      content.first = content.last = false;
      return world.at(Level::Low, content).activations;
    };
    const double none = activations(0, 0);
    const double all = activations(layers, 0);
    CHECK(activations(2 * layers, 0) == all);
    CHECK(activations(0, layers) == 0.0);
    // Each layer takes an equal part of the way.
    CHECK(activations(1, 0) == doctest::Approx(none + (all - none) / number));
    CHECK(activations(0, 1) == doctest::Approx(none - none / number));
    world.plan.recompute = Recompute::Full;
    CHECK(activations(0, 0) == doctest::Approx(all));
    // The high end counts nothing as gone.
    software.offload_layers = 0;
    const double kept = world.at(Level::High, world.all).device();
    software.offload_layers = layers;
    CHECK(world.at(Level::High, world.all).device() == kept);
  }
}

TEST_CASE("states do not change each other, and adapters alone have gradients") {
  World world(0);
  world.task.stack->stack.gradients = Gradients::Kept;
  world.task.lora.reset();
  const StageMemory before = world.at(Level::Typical, world.all);
  world.task.changes.moments = 2.03;
  const StageMemory after = world.at(Level::Typical, world.all);
  CHECK(after.gradients == before.gradients);
  CHECK(after.weights == before.weights);
  CHECK(after.optimizer < before.optimizer);
  world.task.lora = Lora{.rank = 1, .targets = {Target::Query}};
  const StageMemory frozen = world.at(Level::Typical, world.all);
  CHECK(frozen.gradients < after.gradients);
}

TEST_CASE("names of modules are joined, and read again") {
  const Recompute two = listed(Module::Mlp) | listed(Module::Norms);
  CHECK(std::string(name_of(two)) == "mlp+layernorm");
  CHECK(recompute_of("mlp+layernorm") == two);
  CHECK(recompute_of("core_attn") == Recompute::Selective);
  CHECK(std::string(name_of(Recompute::Selective)) == "selective");
  CHECK(recompute_of("full") == Recompute::Full);
  CHECK(!recompute_of("full+mlp"));
  CHECK(!recompute_of("mlp+"));
  CHECK(!recompute_of("everything"));
}

TEST_CASE("a verdict is the highest level that fits") {
  const ByLevel<Bytes> needed{{Bytes(1.0), Bytes(2.0), Bytes(3.0)}};
  CHECK(verdict(needed, Bytes(3.0)) == Verdict::Fits);
  CHECK(verdict(needed, Bytes(2.5)) == Verdict::NotAtHigh);
  CHECK(verdict(needed, Bytes(1.0)) == Verdict::MayNotFit);
  CHECK(verdict(needed, Bytes(0.5)) == Verdict::Infeasible);
}

}  // namespace
}  // namespace dfsearch::memory
