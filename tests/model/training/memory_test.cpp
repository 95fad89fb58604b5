// Against figures that were published, and sums written out here: what a layer keeps, and what
// the first stage of a pipeline holds.

#include "model/training/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "model/training/layout_shelf.hpp"
#include "model/training/step.hpp"
#include "support/published_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

constexpr double kGiB = 1073741824.0;

Profiles profiles_of(const Task& task, const Blocks& blocks, const Degrees& degrees,
                     TensorLayout order, std::int64_t micro_batch = 1) {
  LayoutShelf shelf(task, blocks);
  return shelf.profiles(degrees, order, micro_batch);
}

struct Kept {
  std::string name;
  Transformer model;
  std::int64_t sequence, tensor;
  double none, full;
};

TEST_CASE("layers that alternate take and keep what each of them does by itself") {
  int worlds = 0;
  for (std::uint64_t seed = 0; worlds < 300; ++seed) {
    CAPTURE(seed);
    Task task = test::random_training_task(seed);
    if (!task.model.alternates()) continue;
    ++worlds;
    task.model.vocabulary = 0;
    Plan plan;
    plan.degrees[Role::Context] = task.pass.fused ? 2 : 1;
    const Groups groups = Groups::anywhere(task.machine, plan.degrees);
    const auto of_model = [&](const Transformer& model) {
      Task one = task;
      one.model = model;
      const Blocks blocks = blocks_of(one);
      const Profiles profiles = profiles_of(one, blocks, plan.degrees, plan.layout);
      const StepModel step(one, plan, profiles, blocks.order);
      return std::pair(
          step.passes(groups),
          stage_memory(one, plan, profiles, blocks.order.content(0, model.layers), 0, 1));
    };
    const auto all = of_model(task.model);
    Seconds passes{};
    MemoryUse sum;
    for (std::int64_t layer = 1; layer <= task.model.layers; ++layer) {
      const bool full = layer % task.model.full_attention_every == 0;
      Transformer model = task.model.seeing(full ? 0 : task.model.window);
      model.layers = 1;
      const auto one = of_model(model);
      passes += one.first;
      sum.weights += one.second.weights;
      sum.activations += one.second.activations;
      sum.working = std::max(sum.working, one.second.working);
    }
    CHECK(all.first / passes == doctest::Approx(1.0).epsilon(1e-12));
    CHECK(all.second.weights / sum.weights == doctest::Approx(1.0).epsilon(1e-12));
    CHECK(all.second.activations / sum.activations == doctest::Approx(1.0).epsilon(1e-12));
    CHECK(all.second.working == sum.working);
  }
}

TEST_CASE("a layer keeps what is published of five models") {
  // Korthikanti et al. (arXiv 2205.05198), section 4, carried over to gated layers, grouped
  // heads, experts and latents: counted value by value, b = 1, words of 2 bytes.
  const Kept cases[] = {
      {"Llama-3 8B", test::llama3_8b(), 8192, 1, 1141899264.0, 67108864.0},
      {"Llama-3 70B", test::llama3_70b(), 8192, 8, 281280512.0, 16777216.0},
      {"Llama-3.1 405B", test::llama3_405b(), 8192, 8, 533200896.0, 33554432.0},
      {"Mixtral 8x7B", test::mixtral_8x7b(), 4096, 1, 990511104.0, 33554432.0},
      {"DeepSeek-V3", test::deepseek_v3(), 4096, 1, 1801977856.0, 58720256.0},
  };
  for (const Kept& expected : cases) {
    CAPTURE(expected.name);
    const Task task = test::training_task(expected.model, expected.sequence, expected.tensor);
    const Blocks blocks = blocks_of(task);
    Degrees degrees;
    degrees[Role::Tensor] = expected.tensor;
    const Profiles profiles = profiles_of(task, blocks, degrees, TensorLayout::LeastKept);
    const Part part = expected.model.experts ? Part::OtherLayer : Part::Layer;
    const BlockProfile& layer = of(profiles, part);
    CHECK(layer.kept.in_base_units() == expected.none);
    CHECK(layer.kept_scores.in_base_units() == 0.0);
    CHECK(layer.input.in_base_units() == expected.full);
  }
}

TEST_CASE("a layer of GPT keeps s b h (10 + 24/t + 5 a s / (h t)), or a t-th of 34") {
  for (const std::int64_t tensor : {1, 2, 8}) {
    for (const std::int64_t micro_batch : {1, 4}) {
      CAPTURE(tensor);
      CAPTURE(micro_batch);
      const Transformer model = test::megatron(6144, 64, 48);
      Task task = test::training_task(model, 2048, tensor);
      task.pass.fused = false;
      const Blocks blocks = blocks_of(task);
      Degrees degrees;
      degrees[Role::Tensor] = tensor;
      const double sbh = 2048.0 * static_cast<double>(micro_batch) * 6144.0;
      const double scores = 5.0 * 64.0 * 2048.0 / 6144.0;
      const double t = static_cast<double>(tensor);
      const BlockProfile whole =
          of(profiles_of(task, blocks, degrees, TensorLayout::LeastSent, micro_batch), Part::Layer);
      CHECK(whole.kept.in_base_units() == doctest::Approx(sbh * (10.0 + 24.0 / t)).epsilon(1e-14));
      CHECK(whole.kept_scores.in_base_units() == doctest::Approx(sbh * scores / t).epsilon(1e-14));
      CHECK(whole.input.in_base_units() == 2.0 * sbh);
      const BlockProfile split =
          of(profiles_of(task, blocks, degrees, TensorLayout::LeastKept, micro_batch), Part::Layer);
      CHECK(split.kept.in_base_units() == doctest::Approx(sbh * 34.0 / t).epsilon(1e-14));
      CHECK(split.input.in_base_units() == doctest::Approx(2.0 * sbh / t).epsilon(1e-14));
    }
  }
}

struct FirstStage {
  std::string name;
  std::int64_t hidden, heads, layers, micro_batch, pipeline, chunks;
  double none, selective;  // GiB of activations
};

TEST_CASE("the first stage of Megatron holds the activations of figure 1") {
  const FirstStage cases[] = {
      {"22B", 6144, 64, 48, 4, 1, 1, 59.25, 9.5625},
      {"175B", 12288, 96, 96, 1, 8, 3, 66.84375, 12.3515625},
      {"530B", 20480, 128, 105, 1, 35, 3, 114.0234375, 23.076171875},
      {"1T", 25600, 160, 128, 1, 64, 1, 131.25, 26.5625},
  };
  for (const FirstStage& expected : cases) {
    CAPTURE(expected.name);
    const Transformer model = test::megatron(expected.hidden, expected.heads, expected.layers);
    Task task = test::training_task(model, 2048, 8 * expected.pipeline);
    task.pass.fused = false;
    const Blocks blocks = blocks_of(task);
    Plan plan;
    plan.degrees[Role::Tensor] = 8;
    plan.degrees[Role::Pipeline] = expected.pipeline;
    plan.chunks = expected.chunks;
    if (plan.chunks > 1) plan.schedule = Schedule::Interleaved;
    const StageContent stage{.layers = expected.layers / expected.pipeline, .first = true};
    const std::int64_t micro_batches = 8 * expected.pipeline;
    const auto held = [&](TensorLayout order, Recompute recompute) {
      plan.recompute = recompute;
      const Profiles profiles =
          profiles_of(task, blocks, plan.degrees, order, expected.micro_batch);
      return stage_memory(task, plan, profiles, stage, 0, micro_batches).activations / Bytes(kGiB);
    };
    CHECK(held(TensorLayout::LeastSent, Recompute::None) ==
          doctest::Approx(expected.none).epsilon(1e-14));
    CHECK(held(TensorLayout::LeastKept, Recompute::Selective) ==
          doctest::Approx(expected.selective).epsilon(1e-14));
  }
}

TEST_CASE("ZeRO divides 16 or 18 bytes a parameter among the replicas") {
  const Task task = test::training_task(test::llama3_8b(), 1024, 64);
  const Blocks blocks = blocks_of(task);
  Plan plan;
  plan.degrees[Role::Data] = 64;
  const Profiles profiles = profiles_of(task, blocks, plan.degrees, TensorLayout::LeastSent);
  const StageContent all{.layers = 32, .first = true, .last = true};
  const double parameters = 8030261248.0;  // of the published checkpoint
  const auto states = [&](int zero) {
    plan.zero = zero;
    const MemoryUse use = stage_memory(task, plan, profiles, all, 0, 1);
    return std::vector<double>{use.weights.in_base_units(), use.gradients.in_base_units(),
                               use.optimizer.in_base_units()};
  };
  using List = std::vector<double>;
  CHECK(states(0) == List{2 * parameters, 4 * parameters, 12 * parameters});
  CHECK(states(1) == List{2 * parameters, 4 * parameters, 12 * parameters / 64});
  CHECK(states(2) == List{2 * parameters, 4 * parameters / 64, 12 * parameters / 64});
  CHECK(states(3) == List{2 * parameters / 64, 4 * parameters / 64, 12 * parameters / 64});
}

TEST_CASE("a single stage has the weight of a tied embedding and head once") {
  Transformer model = test::gpt(1600, 48, 25, 50257);
  model.positions = 1024;
  const double head = 50257.0 * 1600.0;
  const double parameters = 1557611200.0;  // of the published checkpoint of GPT-2 XL
  const auto on = [&](std::int64_t stages, bool tied) {
    model.tied = tied;
    const Task task = test::training_task(model, 1024, 8);
    const Blocks blocks = blocks_of(task);
    Plan plan;
    plan.degrees[Role::Pipeline] = stages;
    const Profiles profiles = profiles_of(task, blocks, plan.degrees, plan.layout);
    const std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), 48 / stages);
    double elements = 0.0;
    std::int64_t stage = 0;
    for (const StageContent& content : contents_of(layers, 1, blocks.order)) {
      const MemoryUse use = stage_memory(task, plan, profiles, content, stage++, 1);
      CHECK(use.optimizer / use.weights == 6.0);
      elements += use.weights.in_base_units() / 2.0;
    }
    const Groups groups = Groups::anywhere(task.machine, plan.degrees);
    return std::pair(elements,
                     StepModel(task, plan, profiles, blocks.order).detail(groups, layers));
  };
  CHECK(on(1, true).first == parameters);
  CHECK(on(1, false).first == parameters + head);
  CHECK(on(2, true).first == parameters + head);
  CHECK(on(2, false).first == parameters + head);
  // The optimizer updates it once: it reads and writes states of 12 bytes, and reads a gradient of
  // 4 and writes a weight of 2.
  const Task task = test::training_task(model, 1024, 8);
  const Seconds once = task.machine.vector.time(Flops(11.0 * head)) +
                       task.machine.memory[0].time(Bytes(30.0 * head));
  CHECK((on(1, false).second.step - on(1, true).second.step) / once == doctest::Approx(1.0));
  // Two stages send each other half of its gradients, of two bytes, and then half of the sum.
  Degrees two;
  two[Role::Pipeline] = 2;
  const Seconds half = Groups::anywhere(task.machine, two).pipeline.hop(Bytes(2.0 * head / 2.0));
  CHECK(on(2, true).second.parts.data / (half * 2.0) == doctest::Approx(1.0));
  CHECK(on(2, false).second.parts.data == Seconds{});
}

TEST_CASE("experts are divided among the chips that share no samples, the rest is not") {
  const Task task = test::training_task(test::mixtral_8x7b(), 1024, 64);
  const Blocks blocks = blocks_of(task);
  Plan plan;
  plan.degrees[Role::Expert] = 8;
  plan.degrees[Role::Data] = 8;
  plan.zero = 1;
  const Profiles profiles = profiles_of(task, blocks, plan.degrees, TensorLayout::LeastSent);
  const BlockProfile& layer = of(profiles, Part::OtherLayer);
  CHECK(layer.expert_parameters == 3.0 * 4096.0 * 14336.0);
  // Q and PROJ, K and V, two norms, the router.
  CHECK(layer.parameters == 4096.0 * (2.0 * 4096.0 + 2.0 * 1024.0) + 2.0 * 4096.0 + 8.0 * 4096.0);
  const StageContent one{.other_layers = 1};
  const MemoryUse use = stage_memory(task, plan, profiles, one, 0, 1);
  CHECK(use.optimizer.in_base_units() ==
        doctest::Approx(12.0 * (layer.parameters / 64.0 + layer.expert_parameters / 8.0)));
}

TEST_CASE("experts are no less experts where few tokens use just one of them") {
  Transformer model = test::mixtral_8x7b();
  model.experts->used = 1;
  const Task task = test::training_task(model, 1, 64);  // one token: one of eight runs
  const Blocks blocks = blocks_of(task);
  Degrees degrees;
  degrees[Role::Expert] = 8;
  degrees[Role::Data] = 8;
  const Profiles profiles = profiles_of(task, blocks, degrees, TensorLayout::LeastSent);
  CHECK(of(profiles, Part::OtherLayer).expert_parameters == 3.0 * 4096.0 * 14336.0);
}

TEST_CASE("a layer more never needs less") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_training_task(seed);
    const Blocks blocks = blocks_of(task);
    Plan plan;
    plan.recompute = test::kRecomputes[seed % 3];
    plan.zero = static_cast<int>(seed % 4);
    plan.offload = {
        .weights = seed % 2 == 0, .activations = seed % 3 == 0, .optimizer = seed % 5 == 0};
    const Profiles profiles = profiles_of(task, blocks, plan.degrees, TensorLayout::LeastSent);
    const auto held = [&](std::int64_t dense, std::int64_t expert) {
      const MemoryUse use = stage_memory(
          task, plan, profiles, {.layers = dense, .other_layers = expert, .first = true}, 0, 3);
      return std::pair(use.total(), use.second);
    };
    for (std::int64_t dense = 0; dense <= blocks.order.layers; ++dense) {
      for (std::int64_t expert = 0; expert <= blocks.order.other_layers; ++expert) {
        const auto [first, second] = held(dense, expert);
        for (const auto& [a, b] : {std::pair(dense + 1, expert), std::pair(dense, expert + 1)}) {
          if (a > blocks.order.layers || b > blocks.order.other_layers) continue;
          const auto [more, more_second] = held(a, b);
          CHECK(more >= first);
          CHECK(more_second >= second);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dfsearch::training
