// Graphs of lists of layers against the counts of their blocks.

#include "graph/workloads/llm/layer_list_graph.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "support/mixed_models.hpp"

namespace dfsearch::layer_lists {
namespace {

constexpr std::int64_t kTokens = 512;
constexpr double real(std::int64_t count) { return static_cast<double>(count); }
const TransformerPass kPass{.tokens = kTokens, .causal = true};

/// Elements that are stored: all but those that another kernel has already.
double stored(const DataflowGraph& graph) {
  double sum = 0.0;
  for (const Kernel& k : graph.kernels()) {
    sum += real(k.parameters);
    if (!k.has_weight() || k.weight_of) continue;
    sum += real(k.matrices > 0 ? k.matrices : k.outer) * real(k.m) * real(k.k);
  }
  return sum;
}

/// Counts of the layers of a model alone.
ShapeCounts counts_of_layers(const MixedLayers& mixed) {
  ModelShape shape = mixed.shape;
  Stack& stack = shape.stacks.front();
  stack.vocabulary = stack.positions = 0;
  stack.has_head = false;
  stack.vectors = 0.0;
  return counts_of(shape, kTokens);
}

const Kernel* kernel_named(const DataflowGraph& graph, const std::string& name) {
  for (const Kernel& k : graph.kernels()) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

const Block kMlp{.kind = BlockKind::Dense, .width = 512, .gated = 1, .copies = 1};
Block attention(std::int64_t window) {
  return {.kind = BlockKind::Attention,
          .heads = 8,
          .kv = 2,
          .dim = 64,
          .value = 64,
          .window = window,
          .causal = 1,
          .project = 1};
}

Transformer model_of(std::vector<LayerKind> kinds, std::vector<std::uint16_t> layers) {
  const MixedModel made =
      mixed_model_of(test::shape_of_kinds(std::move(kinds), 256, std::move(layers)));
  REQUIRE(made.model);
  return *made.model;
}

TEST_CASE("a graph of a list of layers has the weights and the FLOP of its blocks") {
  std::mt19937_64 random(11);
  int with_graph = 0, with_experts = 0, with_scans = 0;
  for (int world = 0; world < 400; ++world) {
    CAPTURE(world);
    const Transformer model = test::random_mixed_model(random, 6);
    const LayerListGraph forward = layer_list_graph(model, kPass, PassKind::Prefill, model.layers);
    if (!forward.why.empty()) continue;
    ++with_graph;
    with_experts += model.experts.has_value() ? 1 : 0;
    const ShapeCounts counts = counts_of_layers(*model.mixed);
    with_scans += counts.scan_flop > 0.0 ? 1 : 0;
    CHECK(forward.layers == model.layers);
    CHECK(stored(forward.graph) == counts.parameters);
    const double flop =
        real(kTokens) * (2.0 * counts.matmul + counts.attention_flop + counts.scan_flop);
    CHECK(forward.graph.flops().in_base_units() == doctest::Approx(flop).epsilon(1e-13));
    CHECK_FALSE(has_wrong_shape(forward.graph));
    const DataflowGraph training =
        layer_list_graph(model, kPass, PassKind::Training, model.layers).graph;
    CHECK(training.flops().in_base_units() == doctest::Approx(3.0 * flop).epsilon(1e-13));
    CHECK(stored(training) == counts.parameters);
    // A period stands for the whole list.
    const std::int64_t period = period_of(*model.mixed);
    const DataflowGraph one = layer_list_graph(model, kPass, PassKind::Prefill, period).graph;
    const double times = real(model.layers / period);
    CHECK(times * stored(one) == counts.parameters);
    CHECK(times * one.flops().in_base_units() == doctest::Approx(flop).epsilon(1e-13));
  }
  CHECK(with_graph > 100);
  CHECK(with_experts > 30);
  CHECK(with_scans > 50);
}

TEST_CASE("the period is the least after which the list begins again") {
  const LayerKind near{.blocks = {attention(64), kMlp}}, far{.blocks = {attention(0), kMlp}};
  const auto period = [&](std::vector<std::uint16_t> layers) {
    return period_of(*model_of({near, far}, std::move(layers)).mixed);
  };
  CHECK(period({0, 0, 1, 0, 0, 1}) == 3);
  CHECK(period({0, 1, 0, 1, 0, 1}) == 2);
  CHECK(period({0, 0, 1, 0, 0, 0}) == 6);
  CHECK(period({0, 1, 0, 1, 0}) == 5);
  const Transformer late = model_of({near, far}, {0, 0, 0, 1});
  CHECK(layer_list_graph(late, kPass, PassKind::Training, 0).why.find("'repeat_layers: 4'") !=
        std::string::npos);
  CHECK(layer_list_graph(late, kPass, PassKind::Training, 4).graph.kernel_count() > 0);
}

TEST_CASE("each layer of a period has the window and the parts of its kind") {
  Block gated = attention(0);
  gated.gate = kElementGate;
  Block state{.kind = BlockKind::Mamba2, .heads = 8, .dim = 32};
  state.groups = 2;
  state.state = 64;
  state.chunk = 128;
  state.conv = 4;
  const Transformer model = model_of({{.blocks = {attention(64), kMlp}},
                                      {.blocks = {gated, kMlp}},
                                      {.blocks = {state}, .norms = 1}},
                                     {0, 1, 2, 0, 1, 2});
  const LayerListGraph list = layer_list_graph(model, kPass, PassKind::Prefill, 0);
  CHECK(list.layers == 3);
  CHECK(kernel_named(list.graph, "L1.ATTENTION")->attention->window == 64);
  CHECK(kernel_named(list.graph, "L2.ATTENTION")->attention->window == 0);
  CHECK(kernel_named(list.graph, "L1.HEAD_GATE") == nullptr);
  CHECK(kernel_named(list.graph, "L2.HEAD_GATE")->m == 8 * 64);
  CHECK(kernel_named(list.graph, "L3.ADD_1") == nullptr);
  const Kernel& in_chunk = *kernel_named(list.graph, "L3.IN_CHUNK");
  CHECK(std::vector{in_chunk.outer, in_chunk.m, in_chunk.k} ==
        std::vector<std::int64_t>{2, 128, 64});
  const Kernel& scan = *kernel_named(list.graph, "L3.SCAN");
  CHECK(std::vector{scan.outer, scan.m, scan.k} == std::vector<std::int64_t>{8, 32, 256});
  // The seam leads from the last layer of the period to the first.
  REQUIRE(list.graph.seams().size() == 1);
  CHECK(list.graph.kernel(list.graph.seams()[0].from).name == "L3.ADD_2");
  CHECK(list.graph.kernel(list.graph.seams()[0].to).name == "L1.INPUT");
}

TEST_CASE("a decoded token reads its weights, keys, values and states") {
  Block state{.kind = BlockKind::Mamba2, .heads = 8, .dim = 32};
  state.groups = 2;
  state.state = 64;
  state.chunk = 128;
  state.conv = 4;
  const Transformer model =
      model_of({{.blocks = {state}, .norms = 1}, {.blocks = {attention(100), kMlp}}}, {0, 1, 0, 1});
  const std::int64_t batch = 3, context = 1000;
  const TransformerPass pass{.tokens = batch, .context = context};
  const LayerListGraph list = layer_list_graph(model, pass, PassKind::Decode, 0);
  Bytes read{};
  for (const Kernel& kernel : list.graph.kernels()) read += kernel.sharded_memory;
  const ShapeCounts counts = counts_of_layers(*model.mixed);
  const double states = 8.0 * 32.0 * 64.0, conv = (8.0 * 32.0 + 2.0 * 2.0 * 64.0) * 3.0;
  const double cache = 100.0 * 2.0 * 128.0;
  CHECK(read.in_base_units() ==
        doctest::Approx(2.0 * counts.parameters / 2.0 +
                        3.0 * (2.0 * 4.0 * states + 2.0 * 2.0 * conv + 2.0 * cache)));
  CHECK(kept_of_sequence(*model.mixed, context, Bytes(2.0)).in_base_units() ==
        2.0 * (4.0 * states + 2.0 * conv + 2.0 * cache));
}

TEST_CASE("parts without kernels are named") {
  const auto why = [](Block block) {
    const Transformer model =
        model_of({{.blocks = {std::move(block), kMlp}}, {.blocks = {attention(0), kMlp}}}, {0, 1});
    return layer_list_graph(model, kPass, PassKind::Training, 2).why;
  };
  Block shared = attention(0);
  shared.kv_shared = 1;
  CHECK(why(shared).find("layers that have the keys of another layer") == 0);
  Block same = attention(0);
  same.k_is_v = 1;
  CHECK(why(same).find("values that are the keys") == 0);
  Block index = attention(0);
  index.topk = 32;
  index.index_heads = 4;
  index.index_dim = 32;
  CHECK(why(index).find("scores of an index") == 0);
  Block given{.kind = BlockKind::Recurrence, .state = 64};
  given.linears = {{256, 256, false, 1, 1, LinearRole::In}};
  CHECK(why(given).find("the block recurrence, in layers recurrence+dense") == 0);
}

}  // namespace
}  // namespace dfsearch::layer_lists
