
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "graph/workloads/generators.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"

namespace dfsearch {
namespace {

using NamePairs = std::multiset<std::pair<std::string, std::string>>;

NamePairs tensors_of(const DataflowGraph& graph) {
  NamePairs names;
  for (const Tensor& tensor : graph.tensors()) {
    names.emplace(graph.kernel(tensor.from).name, graph.kernel(tensor.to).name);
  }
  return names;
}

std::string in_layer(int layer, const std::string& name) {
  return "L" + std::to_string(layer) + "." + name;
}

NamePairs repeated(const NamePairs& of_one, int layers) {
  NamePairs all;
  for (int layer = 1; layer <= layers; ++layer) {
    for (const auto& [from, to] : of_one) all.emplace(in_layer(layer, from), in_layer(layer, to));
  }
  return all;
}

}  // namespace

TEST_CASE("layers by rule are joined at their seams, the ends of which are left") {
  const Transformer model{.hidden = 64,
                          .layers = 6,
                          .heads = 4,
                          .kv_heads = 2,
                          .head_dim = 16,
                          .value_dim = 16,
                          .mlp = 128,
                          .vocabulary = 100};
  const DataflowGraph layer = transformer_training_graph(model, {.tokens = 32});
  const DataflowGraph graph = unrolled_layers(layer, 2);
  CHECK(graph.kernel_count() == 2 * layer.kernel_count());
  NamePairs expected = repeated(tensors_of(layer), 2);
  expected.emplace("L1.ADD_2", "L2.INPUT");
  expected.emplace("L2.INPUT_sum", "L1.GRADIENT");
  CHECK(tensors_of(graph) == expected);
  NamePairs seams;
  for (const Tensor& seam : graph.seams()) {
    seams.emplace(graph.kernel(seam.from).name, graph.kernel(seam.to).name);
  }
  CHECK(seams == NamePairs{{"L2.ADD_2", "L1.INPUT"}, {"L1.INPUT_sum", "L2.GRADIENT"}});
  // A tensor that several kernels read is one value.
  std::map<std::string, std::set<std::int32_t>> values;
  for (const Tensor& tensor : graph.tensors()) {
    values[graph.kernel(tensor.from).name].insert(tensor.value);
  }
  CHECK(values["L1.ADD_2"].size() == 1);
  CHECK(values["L2.INPUT"].size() == 1);
  // Gradients of a weight are stored with the weight of the same layer.
  int referred = 0;
  for (const Kernel& kernel : graph.kernels()) {
    if (!kernel.weight_of) continue;
    CHECK(graph.kernel(*kernel.weight_of).name.substr(0, 3) == kernel.name.substr(0, 3));
    ++referred;
  }
  CHECK(referred > 10);
}

}  // namespace dfsearch
