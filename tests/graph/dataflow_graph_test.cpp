#include "graph/dataflow_graph.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace dfsearch {
namespace {

Kernel named(const std::string& name) { return {.name = name}; }

Kernel backward(const std::string& name) { return {.name = name, .phase = Phase::Backward}; }

Tensor tensor(std::size_t from, std::size_t to, int operand = 1) {
  return {.from = KernelId(from), .to = KernelId(to), .operand = operand};
}

std::vector<Kernel> kernels_named(const std::vector<std::string>& names) {
  std::vector<Kernel> kernels;
  for (const std::string& name : names) kernels.push_back(named(name));
  return kernels;
}

/// The messages a graph is refused with; none if it is taken.
std::vector<std::string> refusal(std::vector<Kernel> kernels, std::vector<Tensor> tensors) {
  try {
    const DataflowGraph graph(std::move(kernels), std::move(tensors));
  } catch (const InputError& error) {
    return error.messages();
  }
  return {};
}

std::vector<std::size_t> order_of(const DataflowGraph& graph) {
  std::vector<std::size_t> order;
  for (const KernelId kernel : graph.topological_order()) order.push_back(kernel.index());
  return order;
}

std::vector<std::size_t> indices(std::span<const TensorId> tensors) {
  std::vector<std::size_t> list;
  for (const TensorId t : tensors) list.push_back(t.index());
  return list;
}

using Messages = std::vector<std::string>;
using Indices = std::vector<std::size_t>;

TEST_CASE("a graph without kernels is refused") {
  CHECK(refusal({}, {}) == Messages{"kernels: the list is empty, expected at least one"});
}

TEST_CASE("a kernel without a name is refused") {
  CHECK(refusal(kernels_named({"A", ""}), {}) == Messages{"kernels: a kernel has no name"});
}

TEST_CASE("a name that stands twice is refused") {
  CHECK(refusal(kernels_named({"A", "B", "A"}), {}) ==
        Messages{"kernels: the name 'A' stands twice"});
}

TEST_CASE("a dangling tensor is refused") {
  const Messages dangling{"tensors: a tensor names a kernel that does not exist"};
  CHECK(refusal(kernels_named({"A", "B"}), {tensor(0, 2)}) == dangling);
  CHECK(refusal(kernels_named({"A", "B"}), {tensor(7, 1)}) == dangling);
}

TEST_CASE("a kernel that feeds itself is refused") {
  CHECK(refusal(kernels_named({"A"}), {tensor(0, 0)}) ==
        Messages{"tensors: A -> A: a kernel cannot feed itself"});
}

TEST_CASE("an operand is the first or the second") {
  CHECK(refusal(kernels_named({"A", "B"}), {tensor(0, 1, 2)}).empty());
  CHECK(refusal(kernels_named({"A", "B"}), {tensor(0, 1, 3)}) ==
        Messages{"tensors: A -> B: operand must be 1 or 2"});
  CHECK(refusal(kernels_named({"A", "B"}), {tensor(0, 1, 0)}).size() == 1);
}

TEST_CASE("a tensor from a backward to a forward kernel is refused") {
  CHECK(refusal({named("A"), backward("A_bwd")}, {tensor(0, 1)}).empty());
  CHECK(refusal({named("A"), backward("A_bwd")}, {tensor(1, 0)}) ==
        Messages{"tensors: A_bwd -> A: a backward kernel cannot feed a forward one"});
}

TEST_CASE("a cycle is refused and its kernels are named, not those beside it") {
  const auto kernels = kernels_named({"in", "A", "B", "C", "out"});
  CHECK(refusal(kernels, {tensor(0, 1), tensor(1, 2), tensor(2, 3), tensor(3, 1), tensor(3, 4)}) ==
        Messages{"tensors: the kernels A, B, C form a cycle, expected an acyclic graph"});
}

TEST_CASE("a long cycle is named by its first kernels") {
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < 20; ++k) {
    kernels.push_back(named("K" + std::to_string(k)));
    tensors.push_back(tensor(k, (k + 1) % 20));
  }
  const Messages messages = refusal(kernels, tensors);
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].find("K0, K1, K2, K3, K4, K5, K6, K7, ... form a cycle") != std::string::npos);
}

TEST_CASE("all that is wrong is said at once") {
  CHECK(refusal(kernels_named({"A", "A", ""}), {tensor(0, 9), tensor(1, 1)}).size() == 4);
}

TEST_CASE("a list that is topological already keeps its order") {
  const DataflowGraph graph(kernels_named({"A", "B", "C", "D"}),
                            {tensor(0, 3), tensor(1, 2), tensor(2, 3)});
  CHECK(order_of(graph) == Indices{0, 1, 2, 3});
}

TEST_CASE("among ready kernels the first of the list goes first") {
  // C -> A, so A must wait; B and D are free from the start.
  const DataflowGraph graph(kernels_named({"A", "B", "C", "D"}), {tensor(2, 0)});
  CHECK(order_of(graph) == Indices{1, 2, 0, 3});
}

TEST_CASE("the order of the tensors does not change the order of the kernels") {
  const auto kernels = kernels_named({"A", "B", "C", "D", "E"});
  const DataflowGraph one(kernels, {tensor(4, 0), tensor(4, 1), tensor(1, 2), tensor(0, 2)});
  const DataflowGraph two(kernels, {tensor(0, 2), tensor(1, 2), tensor(4, 1), tensor(4, 0)});
  CHECK(order_of(one) == order_of(two));
  CHECK(order_of(one) == Indices{3, 4, 0, 1, 2});
}

TEST_CASE("inputs and outputs are in the order of the tensor list") {
  const DataflowGraph graph(kernels_named({"A", "B", "C"}),
                            {tensor(1, 2), tensor(0, 1), tensor(0, 2, 2), tensor(0, 1, 2)});
  CHECK(indices(graph.outputs(KernelId(0))) == Indices{1, 2, 3});
  CHECK(indices(graph.inputs(KernelId(1))) == Indices{1, 3});
  CHECK(indices(graph.inputs(KernelId(2))) == Indices{0, 2});
  CHECK(graph.inputs(KernelId(0)).empty());
  CHECK(graph.outputs(KernelId(2)).empty());
}

TEST_CASE("a level is the longest path from a source, and buffers span levels") {
  // A -> B -> C -> D with the short cut A -> D.
  const DataflowGraph graph(kernels_named({"A", "B", "C", "D"}),
                            {tensor(0, 1), tensor(1, 2), tensor(2, 3), tensor(0, 3, 2)});
  CHECK(graph.level(KernelId(0)) == 0);
  CHECK(graph.level(KernelId(1)) == 1);
  CHECK(graph.level(KernelId(3)) == 3);
  CHECK(graph.buffer_depth(TensorId(0)) == 2);
  CHECK(graph.buffer_depth(TensorId(3)) == 4);
}

TEST_CASE("two tensors may join the same two kernels") {
  const DataflowGraph graph(kernels_named({"A", "B"}), {tensor(0, 1), tensor(0, 1, 2)});
  CHECK(graph.tensor_count() == 2);
  CHECK(indices(graph.inputs(KernelId(1))) == Indices{0, 1});
  CHECK(graph.level(KernelId(1)) == 1);
}

TEST_CASE("a graph has a backward part when a kernel is backward") {
  CHECK_FALSE(DataflowGraph({named("A")}, {}).has_backward());
  CHECK(DataflowGraph({named("A"), backward("A_bwd")}, {}).has_backward());
}

TEST_CASE("FLOP are two per multiplication of a GEMM and one per element elsewhere") {
  CHECK(kernel_flops({.name = "W", .kind = KernelKind::WeightGemm, .m = 3, .k = 5, .n = 7}) ==
        Flops(2.0 * 3 * 5 * 7));
  CHECK(kernel_flops({.name = "G", .kind = KernelKind::Gemm, .outer = 2, .m = 3, .k = 5, .n = 7}) ==
        Flops(2.0 * 2 * 3 * 5 * 7));
  CHECK(kernel_flops({.name = "E", .kind = KernelKind::Elementwise, .outer = 2, .m = 3, .n = 7}) ==
        Flops(2.0 * 3 * 7));
  CHECK(kernel_flops({.name = "E2", .kind = KernelKind::Elementwise2, .m = 3, .n = 7}) ==
        Flops(3.0 * 7));
}

TEST_CASE("the FLOP of a graph are those of its kernels") {
  const DataflowGraph graph({{.name = "A", .m = 3, .n = 7}, {.name = "B", .m = 2, .n = 5}},
                            {tensor(0, 1)});
  CHECK(graph.flops() == Flops(31.0));
}

TEST_CASE("FLOP beyond 64-bit integers are no problem") {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK(kernel_flops({.name = "G", .kind = KernelKind::Gemm, .m = large, .k = large, .n = large}) ==
        Flops(0x1p121));
}

TEST_CASE("graphs are equal when their lists are") {
  const DataflowGraph one(kernels_named({"A", "B"}), {tensor(0, 1)});
  CHECK(one == DataflowGraph(kernels_named({"A", "B"}), {tensor(0, 1)}));
  CHECK_FALSE(one == DataflowGraph(kernels_named({"A", "B"}), {tensor(0, 1, 2)}));
  CHECK_FALSE(one == DataflowGraph(kernels_named({"A", "C"}), {tensor(0, 1)}));
}

}  // namespace
}  // namespace dfsearch
