// Passes of an independent program for works that no steady state has.

#include "model/serving/pass.hpp"

#include <doctest/doctest.h>

#include "support/serving_cases.hpp"

namespace dfsearch::serving {
namespace {

using test::pool_of;
using test::precision_of;

Task task_of(const Pool& pool, const Precision& precision) {
  Task task;
  task.requests = {{.input = 1000, .output = 1000}};
  task.model.gated = true;
  task.model.head_dim = task.model.value_dim = 128;
  task.model.heads = 64;
  task.pools = {pool};
  task.precisions = {precision};
  return task;
}

TEST_CASE("ranks without tokens leave the experts to one that has some") {
  Precision precision = precision_of(Number::Nvfp4);
  precision.modules[static_cast<std::size_t>(Module::Attention)].weights = Number::Bf16;
  Task task = task_of(pool_of(2.25e15, Number::Nvfp4, 9e15, 8e12, 900e9), precision);
  task.model.hidden = 4096;
  task.model.layers = 94;
  task.model.kv_heads = 4;
  task.model.vocabulary = 151936;
  task.model.experts = Experts{.count = 128, .used = 8, .mlp = 1536};
  const Means means(task.requests);
  const Pass pass(task, task.model, means, {.attention_data = 4, .expert = 4});
  const PassTime time = pass.time({.requests = 16.0, .all_tokens = 16.0, .prefill = {}});
  CHECK(time.period == doctest::Approx(0.01265287179623).epsilon(1e-12));
}

TEST_CASE("a prompt passes beside requests that are shorter") {
  Task task =
      task_of(pool_of(989e12, Number::Fp8, 1979e12, 3.35e12, 450e9), precision_of(Number::Fp8));
  task.model.hidden = 8192;
  task.model.layers = 80;
  task.model.kv_heads = 8;
  task.model.mlp = 28672;
  task.model.vocabulary = 128256;
  const Means means(task.requests), prompt({{.input = 2048, .output = 1}});
  const Pass pass(task, task.model, means, {.tensor = 4});
  const PassTime time =
      pass.time({.requests = 64.0, .prefill = prompt.work_of_pass(1, views_of(task.model))});
  CHECK(time.latency == doctest::Approx(0.1047617683164).epsilon(1e-12));
}

}  // namespace
}  // namespace dfsearch::serving
