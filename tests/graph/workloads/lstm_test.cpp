#include "graph/workloads/generators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "graph/dataflow_graph.hpp"
#include "graph/workload.hpp"

namespace dfsearch {
namespace {

constexpr LstmShape kShape{
    .hidden = 96, .vocabulary = 1000, .layers = 3, .steps = 7, .local_batch = 5};

const Kernel& lstm_kernel(const DataflowGraph& graph, const std::string& name) {
  return *std::find_if(graph.kernels().begin(), graph.kernels().end(),
                       [&](const Kernel& k) { return k.name == name; });
}

}  // namespace

TEST_CASE("a language model of LSTM layers has three times the FLOP of its parameters") {
  const DataflowGraph graph = lstm_graph(kShape, Bytes(2.0));
  CHECK(graph.kernel_count() == 7 + 7 * 3);
  // Two for each weight and column forward, twice that backward; and one for each element.
  const double d = 96.0, v = 1000.0, n = 35.0;
  const double weights = 8.0 * d * d * 3.0 + v * d;
  const double elements = 3.0 * 2.0 * 4.0 * d + 2.0 * v + 2.0 * d;
  CHECK(graph.flops().in_base_units() == doctest::Approx(6.0 * weights * n + elements * n));
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    CHECK(wrong_shape(graph, TensorId(t)) == std::nullopt);
  }
}

TEST_CASE("what waits for the step before has steps, and takes turns with its cell") {
  const DataflowGraph graph = lstm_graph(kShape, Bytes(2.0));
  CHECK(graph.seams().size() == 2 * 3);
  for (const Tensor& seam : graph.seams()) CHECK(seam.next_step);
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    const std::string& name = graph.kernels()[k].name;
    CAPTURE(name);
    const bool recurs = name.starts_with("State") || name.starts_with("Cell");
    CHECK(graph.kernels()[k].steps == (recurs ? 7 : 1));
    const auto turn = graph.turn(KernelId(k));
    CHECK(turn.has_value() == name.starts_with("State"));
    if (!turn) continue;
    const Tensor& tensor = graph.tensor(*turn);
    const KernelId other = tensor.from == KernelId(k) ? tensor.to : tensor.from;
    CHECK(graph.kernel(other).name == "Cell" + name.substr(5));
  }
  CHECK(graph.wave_steps() == 1);
}

TEST_CASE("step by step all kernels have steps but those of gradients that are summed up") {
  LstmShape shape = kShape;
  shape.folded = false;
  const DataflowGraph graph = lstm_graph(shape, Bytes(2.0));
  CHECK(graph.wave_steps() == 7);
  for (const Kernel& each : graph.kernels()) {
    CHECK(each.steps == (each.name.ends_with("_update") ? 1 : 7));
  }
  CHECK(lstm_kernel(graph, "State_2_bwd").weight_of);
  shape.steps = 1;
  CHECK(lstm_graph(shape, Bytes(2.0)).seams().empty());
}

}  // namespace dfsearch
