// The bubble of a pipeline against its schedule as events, chunk by chunk.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/step/step_time.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::dimension;

/// Chunks on `stages` stages, each as long as `forward` and, when training, `backward`.
struct Pipeline {
  std::int64_t stages, chunks, micro_batches;
  std::int64_t forward, backward;
  std::int64_t hop;  // from chunk to chunk
};

/// When the last micro-batch has passed all chunks forward.  Stage c % stages computes chunk c;
/// among the passes that can start earliest the one with the lowest chunk does, so that all
/// micro-batches pass a chunk before any passes the next one of the stage.
std::int64_t last_event(const Pipeline& p) {
  const auto stages = static_cast<std::size_t>(p.stages);
  const auto passes = static_cast<std::size_t>(p.stages * p.chunks);
  const auto count = static_cast<std::size_t>(p.micro_batches);
  std::vector<std::size_t> next(count);    // chunk of each micro-batch
  std::vector<std::int64_t> ready(count);  // when it may begin
  std::vector<std::int64_t> free(stages);  // when each stage may
  const auto start = [&](std::size_t j) { return std::max(ready[j], free[next[j] % stages]); };
  std::int64_t end = 0;
  for (std::size_t left = passes * count; left > 0; --left) {
    std::size_t first = count;
    for (std::size_t j = 0; j < count; ++j) {
      if (next[j] == passes) continue;
      if (first == count || std::pair(start(j), next[j]) < std::pair(start(first), next[first])) {
        first = j;
      }
    }
    end = start(first) + p.forward;
    free[next[first]++ % stages] = end;
    ready[first] = end + p.hop;
  }
  return end;
}

/// The step of the model for the same pipeline, with layers of one chunk.
double modelled(const Pipeline& p) {
  Problem problem = test::idle_problem(1);
  problem.workload.layers = p.stages * p.chunks;
  problem.workload.global_batch = p.micro_batches;
  problem.workload.boundary = Bytes(static_cast<double>(p.hop));
  problem.system.chips = p.stages;
  problem.system.network = {dimension(Topology::Ring, p.stages, 1.0, Strategy::Pipeline)};
  if (p.backward > 0) {
    Kernel backward = test::elementwise("b", 1, 1);
    backward.phase = Phase::Backward;
    problem.workload.graph = DataflowGraph({backward}, {});
  }
  const StepTime step = step_time(problem, test::network_of(problem.system), 1);
  return step.step(Seconds(static_cast<double>(p.forward + p.backward))).in_base_units();
}

template <class Visit>
void for_each_pipeline(const Visit& visit) {
  for (std::int64_t stages = 1; stages <= 6; ++stages) {
    for (std::int64_t chunks = 1; chunks <= 4; ++chunks) {
      for (std::int64_t micro_batches = 1; micro_batches <= 9; ++micro_batches) {
        CAPTURE(stages);
        CAPTURE(chunks);
        CAPTURE(micro_batches);
        visit(Pipeline{.stages = stages,
                       .chunks = chunks,
                       .micro_batches = micro_batches,
                       .forward = 3,
                       .backward = 0,
                       .hop = 0});
      }
    }
  }
}

}  // namespace

TEST_CASE("a step takes what the schedule of its chunks takes, however few the micro-batches") {
  for_each_pipeline([](const Pipeline& p) {
    CHECK(modelled(p) == doctest::Approx(static_cast<double>(last_event(p))).epsilon(1e-12));
  });
}

TEST_CASE("hops are those of one micro-batch, and those of others hide behind its chunks") {
  for_each_pipeline([](Pipeline p) {
    p.hop = p.stages > 1 ? 2 : 0;  // a chip by itself hands nothing on
    const auto scheduled = static_cast<double>(last_event(p));
    if (p.micro_batches <= p.stages) {
      CHECK(modelled(p) == doctest::Approx(scheduled).epsilon(1e-12));
    } else {
      CHECK(modelled(p) >= scheduled * (1 - 1e-12));
    }
  });
}

TEST_CASE("a step is never shorter than the work of a stage or a sample through all layers") {
  for_each_pipeline([](Pipeline p) {
    for (const std::int64_t backward : {0, 3, 6}) {
      p.backward = backward;
      const auto chunk = static_cast<double>(p.forward + backward);
      const auto stages = static_cast<double>(p.stages);
      const auto chunks = static_cast<double>(p.chunks);
      const auto micro_batches = static_cast<double>(p.micro_batches);
      const double step = modelled(p) * (1 + 1e-12);
      CHECK(step >= micro_batches * chunks * chunk);
      CHECK(step >= stages * chunks * chunk);
      // The last micro-batch through the last chunk, and the way back from there.
      CHECK(step >= (stages * chunks + micro_batches - 1) * chunk);
      CHECK(step >= (stages - 1 + micro_batches * chunks) * chunk);
    }
  });
}

TEST_CASE("with backward chunks, all forward ones first, a step takes as long as the schedule") {
  // All forward, then all backward, is two pipelines one after the other that share nothing but
  // the last chunk: their sum, which the model has, is what they take.
  for_each_pipeline([](Pipeline p) {
    Pipeline back = p;
    back.forward = 6;
    const auto both = static_cast<double>(last_event(p) + last_event(back));
    p.backward = 6;
    CHECK(modelled(p) == doctest::Approx(both).epsilon(1e-12));
  });
}

// Published: 23 ms a token and 173 tokens/s for one sequence.
TEST_CASE("a sequence by itself gets a token each time one has passed all layers") {
  Problem problem = test::idle_problem(1);
  problem.workload.layers = 32;
  problem.system.chips = 16;
  problem.system.network = {dimension(Topology::Ring, 16, 5.0, Strategy::Pipeline)};
  problem.system.network[0].latency = Seconds(0.25);
  problem.workload.serving = {.decode = true, .tokens = 1, .boundary = Bytes(10.0)};
  const std::vector<Mapping::Dimension> network = test::network_of(problem.system);
  const Seconds layer(1.0);
  const Seconds step = step_time(problem, network, 1).step(layer);
  CHECK(step.in_base_units() == doctest::Approx(32 + 31 * (2.0 + 0.25)).epsilon(1e-14));
  CHECK(request_latency(problem, network, layer).in_base_units() ==
        doctest::Approx(step.in_base_units()).epsilon(1e-14));
  problem.equations.pipeline = PipelineTime::Bubble;
  CHECK(step_time(problem, network, 1).step(layer) < request_latency(problem, network, layer));
}

}  // namespace dfsearch
