// Deployments of models of several kinds of layers: the search against all deployments, and states
// and pages by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engine/serving/find_deployment.hpp"
#include "model/serving/steady_state.hpp"
#include "support/mixed_models.hpp"
#include "support/serving_worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;

Task random_mixed_task(std::mt19937_64& random) {
  Task task = test::random_task(random);
  task.model = test::random_mixed_model(random, 9);
  if (task.speculation.kind == Drafting::Mtp) {
    // The layer that predicts is one that attends.
    if (!task.model.mixed->attends()) task.speculation = {};
  }
  for (Precision& precision : task.precisions) {
    precision.state = random() % 2 == 0 ? Number::Fp32 : Number::Bf16;
  }
  for (Pool& pool : task.pools) {
    pool.execution = {};
    if (random() % 2 == 0) pool.server = Server{.release = Release::VllmV1, .max_seqs = 64};
  }
  return task;
}

TEST_CASE("the best deployment of layers of several kinds is the best of all deployments") {
  std::mt19937_64 random(21);
  int with_answer = 0, with_states = 0;
  for (int world = 0; world < 250; ++world) {
    CAPTURE(world);
    const Task task = random_mixed_task(random);
    const auto all = test::all_deployments(task);
    if (all.empty()) continue;
    double best = std::numeric_limits<double>::infinity();
    std::int64_t feasible = 0;
    for (const Deployment& deployment : all) {
      const Figures figures = evaluate(task, deployment);
      if (!figures.feasible()) continue;
      ++feasible;
      if (task.objective == serving::Objective::Front) continue;
      best = std::min(best, value_of(task.objective, task.front, figures));
    }
    const ServingResult found = find_deployment(task, {.threads = 2, .count = true});
    CHECK(found.deployments == static_cast<double>(all.size()));
    CHECK(*found.feasible == feasible);
    if (task.objective == serving::Objective::Front || std::isinf(best)) continue;
    REQUIRE(found.status == SearchStatus::Optimal);
    CHECK(value_of(task.objective, task.front, *found.figures) <= best * (1.0 + kTie));
    CHECK(found.lower_bound.in_base_units() <= best * (1.0 + 1e-12));
    ++with_answer;
    const auto& forms = task.model.mixed->forms;
    with_states += std::any_of(forms.begin(), forms.end(), [](const LayerForm& form) {
      return form.state + form.conv_state > 0.0;
    });
  }
  CHECK(with_answer > 50);
  CHECK(with_states > 30);
}

/// Nemotron-Nano-9B-v2's layers with a state: 128 heads of 80, states of 128, 8 groups; 8 heads of
/// keys of 128.
Task nemotron_task() {
  Block scan{.kind = BlockKind::Mamba2, .heads = 128, .dim = 80};
  scan.groups = 8;
  scan.state = 128;
  scan.conv = 4;
  scan.chunk = 128;
  const Block attention{.kind = BlockKind::Attention,
                        .heads = 40,
                        .kv = 8,
                        .dim = 128,
                        .value = 128,
                        .causal = 1,
                        .project = 1};
  const MixedModel mixed = mixed_model_of(test::shape_of_kinds(
      {{.blocks = {scan}, .norms = 1}, {.blocks = {attention}, .norms = 1}}, 4480, {0, 1, 0}));
  Task task;
  task.model = *mixed.model;
  task.precisions = {Precision{.state = Number::Bf16}};
  task.requests = {{.input = 1000, .output = 100}};
  Pool pool{.name = "h100", .chips = 1};
  pool.peak[1] = FlopsPerSecond(989e12);
  pool.machine.memory[0].bandwidth = BytesPerSecond(3.35e12);
  pool.machine.memory[0].capacity = Bytes(80e9);
  pool.engine.layer = Seconds(50e-6);
  task.pools = {pool};
  return task;
}

TEST_CASE("states take whole pages of a server whose layers share them") {
  Task task = nemotron_task();
  const Means means(task.requests);
  const Structure one;
  const Cached cached{{1000.0, 1000.0}};
  const double state = 2.0 * (10240.0 + 2048.0) * 3.0 + 2.0 * 10240.0 * 128.0;
  const double cell = 2.0 * 8.0 * 256.0;
  {
    const Pass pass(task, task.model, means, one);
    CHECK(pass.cached_bytes(cached) == 2.0 * state + 1000.0 * cell);
    CHECK(pass.state_bytes() == 2.0 * state);
    const double before = pass.memory(3.0, cached, 64.0, 0.0);
    CHECK(pass.memory(4.0, cached, 64.0, 0.0) - before ==
          doctest::Approx(2.0 * state + 1000.0 * cell));
  }
  // A page has 672 tokens of the cache of a layer, as vLLM's log has it (issue 24280).
  task.pools[0].server = Server{.release = Release::VllmV1, .max_seqs = 64};
  const Pass pass(task, task.model, means, one);
  CHECK(state / cell == doctest::Approx(658.0).epsilon(1e-3));
  CHECK(pass.state_bytes() == 2.0 * 672.0 * cell);
  const double before = pass.memory(3.0, cached, 64.0, 0.0);
  CHECK(pass.memory(4.0, cached, 64.0, 0.0) - before ==
        doctest::Approx(2.0 * 672.0 * cell + 2.0 * 672.0 * cell));
  // The exchange between pools moves no pages.
  CHECK(handed_bytes(task, one, cached) == 2.0 * state + 1000.0 * cell);
}

TEST_CASE("a token that decodes reads and writes all states of its request") {
  Task task = nemotron_task();
  task.pools[0].engine.scans = ScanShares{};
  const Means means(task.requests);
  const Pass pass(task, task.model, means, {});
  const auto part = [&](double requests, Part which) {
    PartTimes parts = pass.parts({.requests = requests, .prefill = {}}, true);
    return of(parts, which);
  };
  const double state = 2.0 * (10240.0 + 2048.0) * 3.0 + 2.0 * 10240.0 * 128.0;
  const double seen = means.seen(0).context * 4096.0;
  CHECK(part(8.0, Part::Cache) == doctest::Approx(8.0 * (4.0 * state + seen) / 3.35e12));
  CHECK(part(0.0, Part::Host) == doctest::Approx(3.0 * 25e-6 + 2.0 * 10e-6));
}

TEST_CASE("compressed keys and windows are cached apart, shared keys are read alone") {
  Block block{.kind = BlockKind::Compressed, .heads = 64, .dim = 512, .window = 128};
  block.q_rank = 1024;
  block.o_groups = 8;
  block.o_rank = 1024;
  block.rate = 4;
  block.topk = 512;
  block.index_heads = 64;
  block.index_dim = 128;
  Task task = nemotron_task();
  const auto set_model = [&](std::vector<Block> blocks, std::vector<std::uint16_t> layers) {
    std::vector<LayerKind> kinds;
    for (Block& one : blocks) kinds.push_back({.blocks = {std::move(one)}, .norms = 1});
    task.model = *mixed_model_of(test::shape_of_kinds(std::move(kinds), 4096, layers)).model;
  };
  set_model({block}, {0, 0});
  CHECK(views_of(task.model).count == 3);
  const Means means(task.requests);
  const Structure one;
  const Cached cached{{1000.0, 128.0, 1000.0}};
  {
    const Pass pass(task, task.model, means, one);
    const double bytes = 2.0 * 2.0 * (128.0 * 512.0 + 1000.0 * (512.0 + 128.0) / 4.0);
    CHECK(pass.cached_bytes(cached) == bytes);
    CHECK(handed_bytes(task, one, cached) == bytes);
    // A step reads the window, compressed keys of as many tokens as it sees, and all of the index.
    const double far = means.seen(2048).context / 4.0 * 512.0, all = means.seen(0).context;
    PartTimes parts = pass.parts({.requests = 8.0, .prefill = {}}, true);
    CHECK(of(parts, Part::Cache) ==
          doctest::Approx(8.0 * 2.0 * 2.0 * (128.0 * 512.0 + far) / 3.35e12));
    CHECK(all > 1000.0);
  }
  Block attention{.kind = BlockKind::Attention,
                  .heads = 32,
                  .kv = 8,
                  .dim = 128,
                  .value = 128,
                  .causal = 1,
                  .project = 1};
  Block shared = attention;
  shared.kv_shared = 1;
  set_model({attention, shared}, {0, 1});
  const Pass pass(task, task.model, means, one);
  const double row = 2.0 * 8.0 * 256.0;
  CHECK(pass.cached_bytes(cached) == 1000.0 * row);
  PartTimes parts = pass.parts({.requests = 8.0, .prefill = {}}, true);
  CHECK(of(parts, Part::Cache) ==
        doctest::Approx(8.0 * 2.0 * means.seen(0).context * row / 3.35e12));
  CHECK(misfit(task, {.pipeline = 2}) ==
        "pipeline: attention: keys and values of another layer stay in its pipeline stage");
}

}  // namespace
}  // namespace dfsearch
