// Graphs by rule: what is known of published models, and totals that equal the closed forms for
// random shapes.  Kernels and values are compared in tests/cli/reference_test.py.

#include "graph/workloads/llm/transformer_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
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

}  // namespace

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
