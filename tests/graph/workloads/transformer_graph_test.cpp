// Graphs by rule: kernels and values of published models, and totals that equal the closed
// forms for random shapes.

#include "graph/workloads/llm/transformer_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/published_models.hpp"
#include "support/random_models.hpp"

namespace dfsearch {
namespace {

double number(std::int64_t value) { return static_cast<double>(value); }

std::optional<Kernel> find(const DataflowGraph& graph, const std::string& name) {
  for (const Kernel& kernel : graph.kernels()) {
    if (kernel.name == name) return kernel;
  }
  return std::nullopt;
}

Kernel kernel(const DataflowGraph& graph, const std::string& name) {
  const std::optional<Kernel> found = find(graph, name);
  REQUIRE_MESSAGE(found.has_value(), "no kernel ", name);
  return *found;
}

std::vector<std::string> names(const DataflowGraph& graph) {
  std::vector<std::string> list;
  for (const Kernel& k : graph.kernels()) list.push_back(k.name);
  return list;
}

/// The producers of a kernel's inputs, in the order of the list.
std::vector<std::string> inputs(const DataflowGraph& graph, const std::string& name) {
  std::vector<std::string> list;
  for (const Tensor& t : graph.tensors()) {
    if (graph.kernel(t.to).name == name) list.push_back(graph.kernel(t.from).name);
  }
  return list;
}

std::vector<std::int64_t> extents(const Kernel& k) { return {k.outer, k.m, k.k, k.n}; }

/// Elements that are stored: all but those that another kernel has already.
double stored(const DataflowGraph& graph) {
  double sum = 0.0;
  for (const Kernel& k : graph.kernels()) {
    sum += number(k.parameters);
    if (!k.has_weight() || k.weight_of) continue;
    sum += number(k.matrices > 0 ? k.matrices : k.outer) * number(k.m) * number(k.k);
  }
  return sum;
}

Flops flops_of(const DataflowGraph& graph, Phase phase) {
  Flops sum{};
  for (const Kernel& k : graph.kernels()) {
    if (k.phase == phase) sum += kernel_flops(k);
  }
  return sum;
}

using Names = std::vector<std::string>;
using Extents = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a dense layer has the kernels of the table, with its extents") {
  const DataflowGraph graph = transformer_forward_graph(test::llama3_8b(), {.tokens = 8192});
  CHECK(names(graph) == Names{"INPUT", "NORM_1", "Q", "K", "V", "ROPE_Q", "ROPE_K", "ATTENTION",
                              "PROJ", "ADD_1", "NORM_2", "GATE", "UP", "ACT", "DOWN", "ADD_2"});
  CHECK(extents(kernel(graph, "Q")) == Extents{32, 128, 4096, 8192});
  CHECK(extents(kernel(graph, "K")) == Extents{8, 128, 4096, 8192});
  CHECK(extents(kernel(graph, "V")) == Extents{8, 128, 4096, 8192});
  CHECK(extents(kernel(graph, "ATTENTION")) == Extents{32, 128, 128, 8192});
  CHECK(kernel(graph, "ATTENTION").attention->keys == 8192);
  CHECK(extents(kernel(graph, "PROJ")) == Extents{1, 4096, 4096, 8192});
  CHECK(extents(kernel(graph, "GATE")) == Extents{1, 14336, 4096, 8192});
  CHECK(extents(kernel(graph, "DOWN")) == Extents{1, 4096, 14336, 8192});
  CHECK(inputs(graph, "ATTENTION") == Names{"ROPE_Q", "ROPE_K", "V"});
  CHECK(inputs(graph, "ADD_1") == Names{"PROJ", "INPUT"});
  CHECK(inputs(graph, "ACT") == Names{"GATE", "UP"});
  CHECK(inputs(graph, "ADD_2") == Names{"DOWN", "ADD_1"});
}

TEST_CASE("one layer of Llama-3 8B has the weights and FLOP that are known of it") {
  const DataflowGraph graph = transformer_training_graph(test::llama3_8b(), {.tokens = 8192});
  CHECK(stored(graph) == 218'112'000.0);
  CHECK(flops_of(graph, Phase::Forward) == Flops(4'672'924'418'048.0));
  CHECK(kernel_flops(kernel(graph, "ATTENTION")) == Flops(1'099'511'627'776.0));
  CHECK(flops_of(graph, Phase::Backward) == Flops(2.0 * 4'672'924'418'048.0));
  const DataflowGraph token =
      transformer_decode_graph(test::llama3_8b(), {.tokens = 1, .context = 8192});
  CHECK(token.flops() == Flops(570'441'728.0));
}

TEST_CASE("what several kernels read is one value") {
  const DataflowGraph graph = transformer_training_graph(test::llama3_8b(), {.tokens = 64});
  std::vector<std::set<std::string>> shared;
  for (const auto& value : graph.values()) {
    std::set<std::string> ends;
    for (const TensorId t : value) ends.insert(graph.kernel(graph.tensor(t).to).name);
    if (value.size() > 1) shared.push_back(ends);
  }
  const auto is_shared = [&](const std::set<std::string>& ends) {
    return std::find(shared.begin(), shared.end(), ends) != shared.end();
  };
  CHECK(is_shared({"Q", "K", "V", "Q_wgrad", "K_wgrad", "V_wgrad"}));
  CHECK(is_shared({"GATE", "UP", "GATE_wgrad", "UP_wgrad"}));
  CHECK(is_shared({"NORM_1", "ADD_1", "NORM_1_bwd"}));
  CHECK(is_shared({"PROJ", "PROJ_wgrad", "ATTENTION_bwd"}));
}

TEST_CASE("every forward kernel has its counterpart, and gradients that meet are added") {
  const DataflowGraph graph = transformer_training_graph(test::llama3_8b(), {.tokens = 64});
  for (const char* name : {"Q", "K", "V", "PROJ", "GATE", "UP", "DOWN"}) {
    CAPTURE(name);
    const Kernel forward = kernel(graph, name);
    const Kernel data = kernel(graph, std::string(name) + "_bwd");
    const Kernel weight = kernel(graph, std::string(name) + "_wgrad");
    CHECK(extents(data) == Extents{1, forward.k, forward.outer * forward.m, forward.n});
    CHECK(data.kind == KernelKind::WeightGemm);
    CHECK(graph.kernel(*data.weight_of).name == name);
    CHECK(extents(weight) == Extents{forward.outer, forward.m, forward.n, forward.k});
    CHECK(weight.kind == KernelKind::Gemm);
    CHECK(weight.tiled == Loop::K);
    CHECK(weight.communication->type == CommunicationType::GradientAllReduce);
    CHECK(graph.kernel(*weight.weight_of).name == name);
    CHECK(kernel_flops(data) == kernel_flops(forward));
    CHECK(kernel_flops(weight) == kernel_flops(forward));
  }
  CHECK(inputs(graph, "NORM_1_sum") == Names{"V_bwd", "K_bwd", "Q_bwd"});
  CHECK(inputs(graph, "NORM_2_sum") == Names{"UP_bwd", "GATE_bwd"});
  CHECK(inputs(graph, "ADD_1_sum") == Names{"GRADIENT", "NORM_2_bwd"});
  CHECK(inputs(graph, "INPUT_sum") == Names{"ADD_1_sum", "NORM_1_bwd"});
  CHECK(inputs(graph, "ATTENTION_bwd") ==
        Names{"ROPE_Q", "ROPE_K", "V", "PROJ_bwd", "ATTENTION", "ATTENTION"});
  CHECK(inputs(graph, "ACT_bwd") == Names{"DOWN_bwd", "GATE", "UP"});
  CHECK_FALSE(find(graph, "ADD_1_bwd").has_value());
}

TEST_CASE("gradients of keys and values have their heads, and the log-sum-exp 32 bits") {
  const DataflowGraph graph = transformer_training_graph(test::llama3_8b(), {.tokens = 64});
  const auto rows = [&](const std::string& from, const std::string& to) {
    std::vector<std::int64_t> found;
    for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
      const Tensor& tensor = graph.tensors()[t];
      if (graph.kernel(tensor.from).name == from && graph.kernel(tensor.to).name == to) {
        found.push_back(graph.rows(TensorId(t)));
      }
    }
    return found;
  };
  CHECK(rows("ATTENTION_bwd", "ROPE_Q_bwd") == Extents{4096});
  CHECK(rows("ATTENTION_bwd", "ROPE_K_bwd") == Extents{1024});
  CHECK(rows("ATTENTION_bwd", "V_bwd") == Extents{1024});
  CHECK(rows("ATTENTION", "ATTENTION_bwd") == Extents{4096, 64});
}

TEST_CASE("experts: each gets its share of the tokens") {
  const DataflowGraph graph = transformer_training_graph(test::mixtral_8x7b(), {.tokens = 4096});
  CHECK(extents(kernel(graph, "ROUTER")) == Extents{1, 8, 4096, 4096});
  CHECK(extents(kernel(graph, "EXPERT_GATE")) == Extents{8, 14336, 4096, 1024});
  CHECK(extents(kernel(graph, "EXPERT_DOWN")) == Extents{8, 4096, 14336, 1024});
  CHECK(extents(kernel(graph, "EXPERT_UP_bwd")) == Extents{8, 4096, 14336, 1024});
  CHECK(extents(kernel(graph, "EXPERT_UP_wgrad")) == Extents{8, 14336, 1024, 4096});
  CHECK(inputs(graph, "NORM_2_sum") == Names{"DISPATCH_bwd", "ROUTER_bwd"});
  CHECK(inputs(graph, "COMBINE") == Names{"EXPERT_DOWN", "TOPK"});
  CHECK(inputs(graph, "TOPK_bwd") == Names{"COMBINE_bwd", "ROUTER"});
}

TEST_CASE("latent attention: its kernels, and the weight that a decode pass absorbs") {
  const Transformer model = test::deepseek_v3();
  const DataflowGraph graph = transformer_forward_graph(model, {.tokens = 4096});
  CHECK(extents(kernel(graph, "Q_A")) == Extents{1, 1536, 7168, 4096});
  CHECK(extents(kernel(graph, "Q_B")) == Extents{128, 192, 1536, 4096});
  CHECK(extents(kernel(graph, "KV_A")) == Extents{1, 576, 7168, 4096});
  CHECK(extents(kernel(graph, "KV_B")) == Extents{128, 256, 512, 4096});
  CHECK(extents(kernel(graph, "ATTENTION")) == Extents{128, 128, 192, 4096});
  CHECK(extents(kernel(graph, "ROPE_K")) == Extents{1, 64, 1, 4096});
  CHECK(extents(kernel(graph, "PROJ")) == Extents{1, 7168, 16384, 4096});
  CHECK(inputs(graph, "ATTENTION") == Names{"Q_B", "ROPE_Q", "KV_B", "ROPE_K"});
  CHECK(kernel(graph, "ROUTER").parameters == 256);
  CHECK(find(transformer_forward_graph(model, {.tokens = 1, .dense = true}), "GATE").has_value());

  const DataflowGraph token =
      transformer_decode_graph(model, {.tokens = 1, .context = 4096, .dense = true});
  CHECK(extents(kernel(token, "Q_ABSORB")) == Extents{128, 512, 128, 1});
  CHECK(extents(kernel(token, "ATTENTION")) == Extents{128, 512, 576, 1});
  CHECK(extents(kernel(token, "O_ABSORB")) == Extents{128, 128, 512, 1});
  CHECK_FALSE(find(token, "KV_B").has_value());
  CHECK(stored(token) == stored(transformer_forward_graph(model, {.tokens = 1, .dense = true})));
}

TEST_CASE("GPT: two matrices, biases, dropout, no rotary positions, unfused attention") {
  Transformer model = test::gpt(64, 2, 4, 100);
  model.dropout = true;
  const DataflowGraph graph = transformer_training_graph(model, {.tokens = 32, .fused = false});
  const Names all = names(graph);
  CHECK(Names(all.begin(), all.begin() + 18) ==
        Names{"INPUT", "NORM_1", "Q", "K", "V", "SCORES", "SOFTMAX", "DROPOUT_1", "CONTEXT", "PROJ",
              "DROPOUT_2", "ADD_1", "NORM_2", "UP", "ACT", "DOWN", "DROPOUT_3", "ADD_2"});
  CHECK(extents(kernel(graph, "SCORES")) == Extents{4, 32, 16, 32});
  CHECK(extents(kernel(graph, "CONTEXT")) == Extents{4, 16, 32, 32});
  CHECK(extents(kernel(graph, "SCORES_bwd_1")) == Extents{4, 16, 32, 32});
  CHECK(kernel(graph, "SCORES_bwd_2").tiled == Loop::K);
  CHECK(kernel(graph, "NORM_1").parameters == 128);
  CHECK(kernel(graph, "UP").parameters == 256);
  CHECK(flops_of(graph, Phase::Backward) == 2.0 * flops_of(graph, Phase::Forward));
}

TEST_CASE("the head costs as much as 2.4 layers of Llama-3 8B") {
  const Transformer model = test::llama3_8b();
  const DataflowGraph head = transformer_last_graph(model, {.tokens = 8192}, true);
  const DataflowGraph layer = transformer_training_graph(model, {.tokens = 8192});
  CHECK(stored(head) / stored(layer) == doctest::Approx(2.4).epsilon(0.01));
  CHECK(names(head) == Names{"INPUT", "NORM_F", "UNEMBED", "LOSS", "LOSS_bwd", "UNEMBED_bwd",
                             "UNEMBED_wgrad", "NORM_F_bwd"});
  CHECK(names(transformer_first_graph(model, {.tokens = 8192}, true)) ==
        Names{"EMBED", "GRADIENT", "EMBED_bwd"});
}

namespace {

/// The sum over all layers, each of its kind, and the ends.
template <class Graph, class Sum>
double total(const Transformer& model, TransformerPass pass, Graph graph, Sum sum) {
  std::map<std::pair<bool, bool>, std::int64_t> kinds;
  for (std::int64_t layer = 1; layer <= model.layers; ++layer) {
    const std::int64_t every = model.full_attention_every;
    ++kinds[{layer <= model.dense_layers(), every > 0 && layer % every == 0}];
  }
  double all = 0.0;
  for (const auto& [kind, layers] : kinds) {
    Transformer one = model;
    if (kind.second) one.window = 0;
    pass.dense = kind.first;
    all += number(layers) * sum(graph(one, pass));
  }
  return all;
}

double flop(const DataflowGraph& graph) { return graph.flops().in_base_units(); }

double read(const DataflowGraph& graph) {
  double sum = 0.0;
  for (const Kernel& k : graph.kernels()) sum += k.sharded_memory.in_base_units();
  return sum;
}

}  // namespace

TEST_CASE("totals of the graphs equal the closed forms for random transformers") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    test::RandomModels random(seed);
    const Transformer model = random.model();
    // Fused and unfused do the same work unless masked pairs are skipped.
    TransformerPass pass{.tokens = random.pick(1, 50),
                         .fused = model.latent.has_value() || random.chance()};
    pass.causal = pass.fused && random.chance();
    const ModelCounts counts = count(model, pass.tokens, pass.word);

    const auto ends = [&](bool training) {
      return std::vector{transformer_first_graph(model, pass, training),
                         transformer_last_graph(model, pass, training)};
    };
    double parameters = total(model, pass, transformer_training_graph, stored);
    double training = total(model, pass, transformer_training_graph, flop);
    double forward = total(model, pass, transformer_forward_graph, flop);
    for (const DataflowGraph& end : ends(true)) {
      parameters += stored(end);
      training += flop(end);
    }
    for (const DataflowGraph& end : ends(false)) forward += flop(end);
    if (model.tied) parameters -= number(model.vocabulary) * number(model.hidden);
    CHECK(parameters == number(counts.parameters));
    const Flops per_token =
        pass.causal ? counts.causal_training_flop_per_token : counts.training_flop_per_token;
    CHECK(training == doctest::Approx(per_token.in_base_units() * number(pass.tokens)));
    CHECK(3.0 * forward == doctest::Approx(training));
  }
}

TEST_CASE("a decode pass reads and computes what the closed forms say") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    test::RandomModels random(seed);
    const Transformer model = random.model();
    const TransformerPass pass{.tokens = random.pick(1, 20), .context = random.pick(1, 50)};
    const double bytes = total(model, pass, transformer_decode_graph, read) +
                         2.0 * (number(model.vocabulary) * number(model.hidden) +
                                number(model.norm_parameters(model.hidden)));
    CHECK(bytes ==
          doctest::Approx(
              test::decode_bytes(model, pass.context, pass.tokens, pass.word).in_base_units()));
    CHECK(total(model, pass, transformer_decode_graph, stored) ==
          total(model, pass, transformer_forward_graph, stored));
    if (model.latent) continue;
    double pairs = 0.0;  // of all layers
    for (std::int64_t layer = 1; layer <= model.layers; ++layer) {
      const bool full = model.window == 0 ||
                        (model.full_attention_every > 0 && layer % model.full_attention_every == 0);
      pairs += number(full ? pass.context + 1 : std::min(model.window, pass.context + 1));
    }
    const ModelCounts counts = count(model, 1, pass.word);
    const double weights =
        number(counts.matmul_parameters) - number(model.vocabulary) * number(model.hidden);
    const double expected =
        2.0 * number(pass.tokens) *
        (weights + number(model.heads) * pairs * number(model.head_dim + model.value_dim));
    CHECK(total(model, pass, transformer_decode_graph, flop) == expected);
  }
}

TEST_CASE("backward attention executes five products of which four are useful") {
  Kernel attention{.name = "A",
                   .kind = KernelKind::Attention,
                   .mode = Mode::Systolic,
                   .outer = 3,
                   .m = 8,
                   .k = 8,
                   .n = 10,
                   .attention = Attention{.keys = 14, .causal = true}};
  // Query i of 10 sees 4 + i keys: 95 pairs.
  CHECK(scored_pairs(attention) == 95.0);
  CHECK(kernel_flops(attention) == Flops(2.0 * 3.0 * 95.0 * 16.0));
  CHECK(output_depth(attention) == 19);  // 95 * 16 / (10 * 8)
  attention.phase = Phase::Backward;
  CHECK(kernel_flops(attention) == Flops(4.0 * 3.0 * 95.0 * 16.0));
  CHECK(output_depth(attention) == 48);  // 95 * 40 / (10 * 8) = 47.5
  attention.attention->window = 6;
  CHECK(scored_pairs(attention) == 59.0);  // 5 + 9 * 6
  attention.attention->causal = false;
  CHECK(scored_pairs(attention) == 60.0);
}

}  // namespace dfsearch
