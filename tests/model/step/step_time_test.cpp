#include "model/step/step_time.hpp"

#include <doctest/doctest.h>

#include "graph/workloads/generators.hpp"
#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::dimension;

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-14); }

/// A ring of `pipeline` stages at 5 B/s and a ring of `data` replicas.
Problem pipelined(std::int64_t layers, std::int64_t pipeline, std::int64_t data = 1) {
  Problem problem = test::idle_problem(1);
  problem.workload.layers = layers;
  problem.workload.global_batch = 12;
  problem.system.chips = pipeline * data;
  problem.system.network = {dimension(Topology::Ring, pipeline, 5.0, Strategy::Pipeline),
                            dimension(Topology::Ring, data, 1.0, Strategy::Data)};
  return problem;
}

StepTime step_of(const Problem& problem, std::int64_t micro_batch = 1) {
  return step_time(problem, test::network_of(problem.system), micro_batch);
}

TEST_CASE("one partition: overlapped, one after the other, or network after the rest") {
  CHECK(overlapped(Overlap::Perfect, 5, 3, 4) == 5);
  CHECK(overlapped(Overlap::Perfect, 3, 5, 4) == 5);
  CHECK(overlapped(Overlap::Perfect, 3, 4, 5) == 5);
  CHECK(overlapped(Overlap::None, 3, 4, 5) == 12);
  CHECK(overlapped(Overlap::ComputeMemory, 3, 4, 5) == 9);
  CHECK(overlapped(Overlap::ComputeMemory, 4, 3, 5) == 9);
  CHECK(overlapped(Overlap::ComputeMemory, 4, 3, 0) == 4);
}

TEST_CASE("without a pipeline there is no bubble and nothing to hand on") {
  Problem problem = pipelined(7, 1);
  problem.workload.boundary = Bytes(100.0);
  const StepTime step = step_of(problem);
  CHECK(step.layers_per_stage == 7);
  CHECK(step.bubble_factor == 1.0);
  CHECK(step.factor == 84.0);  // 7 layers, 12 samples
  CHECK(step.transfer == Seconds{});
  CHECK(step.step(Seconds(2.0)) == Seconds(168.0));
  problem.system.network.clear();
  CHECK(step_of(problem).transfer == Seconds{});
}

TEST_CASE("layers that the stages do not divide are rounded up") {
  CHECK(step_of(pipelined(8, 4)).layers_per_stage == 2);
  CHECK(step_of(pipelined(9, 4)).layers_per_stage == 3);
  CHECK(step_of(pipelined(3, 4)).layers_per_stage == 1);
}

TEST_CASE("each replica takes its samples, in micro-batches") {
  CHECK(step_of(pipelined(4, 2, 3), 2).micro_batches == 2);  // 12 / 3 / 2
  CHECK(step_of(pipelined(4, 2, 3), 4).micro_batches == 1);
  CHECK(step_of(pipelined(4, 1, 3)).factor == 16.0);  // 4 layers, 4 samples
}

// Ten layers on four stages: three each; 12 samples in micro-batches of 2: six.
TEST_CASE("the bubble shrinks with micro-batches and virtual stages") {
  Problem problem = pipelined(10, 4);
  CHECK(step_of(problem, 2).bubble_factor == about(1.0 + 3.0 / 18.0));  // v = 3
  problem.equations.virtual_stages = VirtualStages::LayersMinusOne;
  CHECK(step_of(problem, 2).bubble_factor == about(1.25));  // v = 2
  problem.equations.virtual_stages = VirtualStages::Fixed;
  CHECK(step_of(problem, 2).bubble_factor == about(1.5));  // v = 1
  problem.equations.fixed_virtual_stages = 5;
  CHECK(step_of(problem, 2).bubble_factor == about(1.1));  // v = 5
  CHECK(step_of(problem, 2).factor == about(1.1 * 3.0 * 12.0));
}

TEST_CASE("one layer less than one layer is one layer") {
  Problem problem = pipelined(4, 4);
  problem.equations.virtual_stages = VirtualStages::LayersMinusOne;
  CHECK(step_of(problem).bubble_factor == about(1.25));  // 1 + 3 / 12, v = 1
  problem.workload.layers = 8;
  CHECK(step_of(problem).bubble_factor == about(1.25));  // L = 2, v = 1
  problem.workload.layers = 12;
  CHECK(step_of(problem).bubble_factor == about(1.125));  // L = 3, v = 2
}

TEST_CASE("stages hand on activations once a step, gradients too when training") {
  Problem problem = pipelined(10, 4);
  problem.workload.boundary = Bytes(3.0);
  // Four stages of three chunks: 11 times 3 B at 5 B/s, of each sample of a micro-batch.
  CHECK(step_of(problem).transfer.in_base_units() == about(11 * 0.6));
  CHECK(step_of(problem, 2).transfer.in_base_units() == about(11 * 1.2));
  problem.system.network[0].latency = Seconds(2.0);
  CHECK(step_of(problem, 2).transfer.in_base_units() == about(11 * (1.2 + 2.0)));
  problem.equations = Equations::published();
  CHECK(step_of(problem).transfer == Seconds(6.0));  // 3 B x 10 layers / 5 B/s
  Kernel backward = test::elementwise("b", 1, 1);
  backward.phase = Phase::Backward;
  problem.workload.graph = DataflowGraph({backward}, {});
  CHECK(step_of(problem).transfer == Seconds(12.0));
  CHECK(step_of(problem, 2).transfer == Seconds(12.0));
  CHECK(step_of(problem).step(Seconds(0.0)) == Seconds(12.0));
  problem.equations = {};
  CHECK(step_of(problem).transfer.in_base_units() == about(2 * 11 * 2.6));
}

TEST_CASE("a step is no shorter than what all samples take from stage to stage") {
  Problem problem = pipelined(4, 2, 3);
  problem.workload.boundary = Bytes(10.0);
  // Four samples of a replica, 10 B each at 5 B/s; a micro-batch of one is handed on 3 times.
  CHECK(step_of(problem).step(Seconds(0.0)) == Seconds(8.0));
  CHECK(step_of(problem).step(Seconds(0.1)) == Seconds(8.0));
  CHECK(step_of(problem).step(Seconds(1.0)).in_base_units() == about(9.0 + 6.0));
  problem.equations = Equations::published();
  CHECK(step_of(problem).least == Seconds{});
}

TEST_CASE("what chips serve, those of a tensor group hand on together") {
  Problem problem = pipelined(8, 2);
  problem.system.network.push_back(dimension(Topology::Ring, 4, 1.0));
  problem.workload.boundary = Bytes(1000.0);
  problem.workload.serving = {.decode = true, .tokens = 1, .boundary = Bytes(40.0)};
  CHECK(step_of(problem).transfer.in_base_units() == about(7 * (40.0 / 4 / 5)));
}

TEST_CASE("the slowest of several pipeline dimensions hands on") {
  Problem problem = pipelined(8, 2);
  problem.workload.boundary = Bytes(3.0);
  problem.system.network.push_back(dimension(Topology::Switch, 2, 2.0, Strategy::Pipeline));
  const StepTime step = step_of(problem);
  CHECK(step.layers_per_stage == 2);                           // four stages
  CHECK(step.transfer.in_base_units() == about(7 * 3.0 / 2));  // 3 B at 2 B/s, 4 x 2 - 1 times
}

TEST_CASE("degrees multiply over the dimensions of a strategy") {
  const std::vector<Mapping::Dimension> network{
      {2, Strategy::Tensor}, {3, Strategy::Data}, {5, Strategy::Tensor}};
  CHECK(degree_of(network, Strategy::Tensor) == 10);
  CHECK(degree_of(network, Strategy::Data) == 3);
  CHECK(degree_of(network, Strategy::Pipeline) == 1);
}

// Published, "h100 2d_torus hbm nvlink": a layer of 16407793.723324874 ns,
// 128 stages, 3072 micro-batches; pipeline factor 1.0413411458333335, step
// 53.02540303291636 s.  2 x 25600 x 2048 x 2 B x 128 layers at 50 GB/s are
// 0.5369 s of it.
TEST_CASE("a published layer makes the published step") {
  Problem problem = pipelined(128, 128);
  problem.equations = Equations::published();
  problem.workload.graph =
      llm_training_graph({.hidden = 25600, .heads = 160, .head_dim = 160, .sequence = 2048});
  problem.workload.global_batch = 3072;
  problem.workload.boundary = Bytes(25600.0 * 2048.0 * 2.0);
  problem.system.network[0].bandwidth = BytesPerSecond(50e9);
  const StepTime step = step_of(problem);
  CHECK(step.bubble_factor == about(1.0413411458333335));
  CHECK(step.transfer.in_base_units() == about(0.536870912));
  CHECK(step.step(Seconds(16407793.723324874e-9)).in_base_units() ==
        doctest::Approx(53.02540303291636).epsilon(1e-12));
}

}  // namespace
}  // namespace dfsearch
