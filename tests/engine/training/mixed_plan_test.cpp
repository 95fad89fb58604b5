// Plans of models of several kinds of layers against plain enumeration of all spreads of the
// layers.

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "engine/training/find_plan.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/step.hpp"
#include "support/mixed_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

/// Calls `take` with all numbers of layers of the stages.
void for_each_spread(std::int64_t layers, std::int64_t stages,
                     const std::function<void(const std::vector<std::int64_t>&)>& take) {
  std::vector<std::int64_t> spread;
  const std::function<void(std::int64_t)> next = [&](std::int64_t left) {
    if (static_cast<std::int64_t>(spread.size()) + 1 == stages) {
      spread.push_back(left);
      take(spread);
      spread.pop_back();
      return;
    }
    for (std::int64_t count = 0; count <= left; ++count) {
      spread.push_back(count);
      next(left - count);
      spread.pop_back();
    }
  };
  next(layers);
}

/// The model behind an encoder of up to two layers, whose output its first kind of layers reads;
/// the model itself where that has no equations.
Transformer behind_encoder(const Transformer& model, std::mt19937_64& random) {
  ModelShape shape = model.mixed->shape;
  Stack encoder = shape.stacks.front();
  encoder.name = "encoder";
  encoder.vocabulary = 0;
  encoder.kinds.resize(1);
  encoder.layers.assign(1 + random() % 2, 0);
  for (dfsearch::Block& block : encoder.kinds.front().blocks) block.causal = 0;
  shape.stacks.front().kinds.front().blocks.push_back({.kind = BlockKind::Attention,
                                                       .heads = 8,
                                                       .kv = 8,
                                                       .dim = 64,
                                                       .value = 64,
                                                       .causal = 1,
                                                       .cross = 1,
                                                       .project = 1});
  shape.stacks.push_back(std::move(encoder));
  MixedModel found = mixed_model_of(shape);
  if (!found.model) return model;
  found.model->encoder_sequence = static_cast<std::int64_t>(64 * (1 + random() % 32));
  return *found.model;
}

/// Takes a random world with a stack, and gives it a model of several kinds.
Task random_mixed_task(std::uint64_t seed) {
  Task task = test::random_task_with_stack(seed);
  std::mt19937_64 random(seed * 2654435761U + 17);
  task.model = test::random_mixed_model(random, 5);
  if (seed % 3 == 0) task.model = behind_encoder(task.model, random);
  task.lora.reset();
  task.choices.layers.clear();
  // From too little for any plan to enough for all.
  task.machine.memory[0].capacity = Bytes(4e6 * static_cast<double>(1 + random() % 200));
  return task;
}

struct LeastMixed {
  double step = std::numeric_limits<double>::infinity();
  std::int64_t plans = 0, fitting = 0;
};

LeastMixed enumerate_mixed(const Task& task) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  LeastMixed least;
  for (const Degrees& inner : space.inner_degrees()) {
    REQUIRE(task.model.mixed->misfit(inner[Role::Tensor], inner[Role::Context], Runner::Training)
                .empty());
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch);
          for (const Plan& shape : space.shapes(degrees, micro_batch, layout)) {
            const StepModel model(task, shape, profiles, space.blocks().order);
            for (const std::vector<Division>& network : space.networks(degrees)) {
              const Groups groups(task.machine, network);
              for_each_spread(task.model.layers, model.stages(), [&](const auto& layers) {
                if (!is_possible(shape.schedule, shape.chunks, model.micro_batches(), layers)) {
                  return;
                }
                ++least.plans;
                const StepModel::Detail detail = model.detail(groups, layers);
                if (!detail.fits) return;
                ++least.fitting;
                least.step = std::min(least.step, detail.step.in_base_units());
              });
            }
          }
        }
      }
    }
  }
  return least;
}

TEST_CASE("the best plan of layers of several kinds is the best of all spreads") {
  int feasible = 0, infeasible = 0, staged = 0, with_encoder = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Task task = random_mixed_task(seed);
    const LeastMixed least = enumerate_mixed(task);
    for (const int threads : {1, 2}) {
      const PlanResult found = find_plan(task, {.threads = threads});
      // The answer at the low ends of memory is another search.
      if (found.decided != task.decide) continue;
      REQUIRE((found.status == SearchStatus::Optimal) == (least.fitting > 0));
      if (least.fitting == 0) continue;
      CHECK(found.cost->step_time.in_base_units() == doctest::Approx(least.step).epsilon(1e-12));
      CHECK(found.lower_bound.in_base_units() <= least.step * (1.0 + 1e-12));
      staged += found.plan->layers.size() > 1;
      with_encoder += task.model.mixed->has_encoder();
      CHECK((found.plan->layers.size() == 1 || !task.model.mixed->has_encoder()));
    }
    least.fitting > 0 ? ++feasible : ++infeasible;
  }
  CHECK(feasible > 50);
  CHECK(infeasible > 5);
  CHECK(staged > 5);
  CHECK(with_encoder > 10);
}

}  // namespace
}  // namespace dfsearch::training
