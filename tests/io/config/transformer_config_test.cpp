// Transformers by rule in configs: the shelf, what keys mean.  Wrong ones are
// in tests/cli/transcripts/layers.txt.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "io/config/graph_text.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "support/random_models.hpp"

namespace dfsearch {
namespace {

constexpr const char* kSystem =
    "\nsystem:\n"
    "  chips: 1\n"
    "  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}\n"
    "  memory: {bandwidth: 1 GB/s}\n";

std::string config_of(const std::string& workload) {
  return "workload: {" + workload + "}" + kSystem;
}

Workload loaded(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "c.yaml", overrides).problem.workload;
}

Workload shelf(const std::string& name, const std::string& more = "") {
  return loaded(config_of("model: " + name + more));
}

const std::string kSmall =
    "kind: llm_training, hidden: 16, heads: 4, kv_heads: 2, head_dim: 8, mlp: 24, layers: 3, "
    "vocabulary: 50, sequence: 32, global_batch: 4";

struct Figure {
  const char* name;
  std::int64_t parameters;
};

/// The models of the shelf but for those of several kinds of layers, whose counts are compared with
/// their families.
std::vector<std::string_view> models_with_graphs() {
  constexpr std::array<std::string_view, 26> kMixed = {"bart_large",
                                                       "bert_large",
                                                       "codestral_mamba_7b",
                                                       "deepseek_v3_2",
                                                       "deepseek_v4_flash",
                                                       "falcon_h1_0_5b",
                                                       "gemma_3n_e4b",
                                                       "gemma_4_26b_a4b",
                                                       "glm_5",
                                                       "granite_4_h_small",
                                                       "jamba_1_5_mini",
                                                       "kimi_linear_48b",
                                                       "lfm2_1_2b",
                                                       "llama4_maverick",
                                                       "mimo_v2_flash",
                                                       "minimax_text_01",
                                                       "modernbert_base",
                                                       "nemotron_3_nano_30b",
                                                       "nemotron_3_super_120b",
                                                       "nemotron_3_ultra_550b",
                                                       "nemotron_h_56b",
                                                       "qwen3_5_397b",
                                                       "qwen3_next_80b",
                                                       "t5_base",
                                                       "vit_large",
                                                       "whisper_large_v3"};
  std::vector<std::string_view> names = model_names();
  const std::size_t all = names.size();
  std::erase_if(names, [&](std::string_view name) {
    return std::find(kMixed.begin(), kMixed.end(), name) != kMixed.end();
  });
  CHECK(names.size() == all - kMixed.size());
  return names;
}

}  // namespace

// Sources: headers of the published checkpoints, or constructors of transformers 5.16.0.dev0;
// GPT-3, Megatron-LM, kimi_k2 and minimax_m2 from their published shapes
// (tests/graph/workloads/transformer_test.cpp).
TEST_CASE("the models of the shelf have the parameters of their checkpoints") {
  const std::array figures = {
      Figure{"apertus_8b", 8'053'338'176},
      Figure{"deepseek_v2", 235'741'434'880},
      Figure{"deepseek_v3", 671'026'419'200},
      Figure{"dots_llm1", 142'774'381'696},
      Figure{"ernie_4_5_21b_a3b", 21'825'437'888},
      Figure{"exaone_4_32b", 32'003'216'384},
      Figure{"gemma3_12b", 11'766'034'176},
      Figure{"glm_4_5", 352'797'829'024},
      Figure{"glm_4_5_air", 106'852'251'264},
      Figure{"glm_4_7_flash", 29'943'393'920},
      Figure{"gpt2_xl", 1'557'611'200},
      Figure{"gpt3_175b", 174'604'259'328},
      Figure{"gpt_oss_120b", 116'829'156'672},
      Figure{"gpt_oss_20b", 20'914'757'184},
      Figure{"granite_3_1_8b", 8'170'848'256},
      Figure{"hunyuan_a13b", 80'393'183'232},
      Figure{"kimi_k2", 1'026'408'232'448},
      Figure{"llama2_70b", 68'976'648'192},
      Figure{"llama2_7b", 6'738'415'616},
      Figure{"llama3_405b", 405'853'388'800},
      Figure{"llama3_70b", 70'553'706'496},
      Figure{"llama3_8b", 8'030'261'248},
      Figure{"llama4_scout", 107'769'861'120},
      Figure{"megatron_175b", 174'615'846'912},
      Figure{"megatron_1t", 1'008'038'758'400},
      Figure{"megatron_22b", 22'074'273'792},
      Figure{"megatron_530b", 529'600'819'200},
      Figure{"minimax_m2", 228'689'320'448},
      Figure{"mistral_7b", 7'241'732'096},
      Figure{"mixtral_8x22b", 140'620'634'112},
      Figure{"mixtral_8x7b", 46'702'792'704},
      Figure{"olmo2_13b", 13'716'198'400},
      Figure{"qwen2_5_72b", 72'706'203'648},
      Figure{"qwen2_5_7b", 7'615'616'512},
      Figure{"qwen3_235b_a22b", 235'093'634'560},
      Figure{"qwen3_30b_a3b", 30'532'122'624},
      Figure{"qwen3_32b", 32'762'123'264},
      Figure{"qwen3_8b", 8'190'735'360},
      Figure{"seed_oss_36b", 36'151'104'512},
      Figure{"smollm3_3b", 3'075'098'624},
      Figure{"starcoder2_15b", 15'957'889'024},
  };
  const std::vector<std::string_view> names = models_with_graphs();
  REQUIRE(names.size() == figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    CAPTURE(figures[i].name);
    CHECK(names[i] == figures[i].name);
    const Workload workload = shelf(figures[i].name);
    REQUIRE(workload.counts.has_value());
    CHECK(workload.counts->parameters == figures[i].parameters);
  }
}

TEST_CASE("a token of a model with experts uses as many parameters as its authors say") {
  const auto active = [](const char* name) {
    return static_cast<double>(shelf(name).counts->active_parameters) / 1e9;
  };
  CHECK(active("mixtral_8x7b") == doctest::Approx(12.9).epsilon(0.005));
  CHECK(active("mixtral_8x22b") == doctest::Approx(39.0).epsilon(0.01));
  CHECK(active("deepseek_v2") == doctest::Approx(21.0).epsilon(0.03));
  CHECK(active("deepseek_v3") == doctest::Approx(37.0).epsilon(0.02));
  CHECK(active("qwen3_30b_a3b") == doctest::Approx(3.3).epsilon(0.02));
  CHECK(active("qwen3_235b_a22b") == doctest::Approx(22.0).epsilon(0.01));
}

TEST_CASE("a model is a base that other keys change, and an override may choose it") {
  const Workload workload = shelf("llama3_8b", ", layers: 2, global_batch: 7");
  CHECK(workload.layers == 2);
  CHECK(workload.global_batch == 7);
  CHECK(workload.sequence == 8192);
  CHECK(workload.transformer->kv_heads == 8);
  CHECK(loaded(config_of("model: llama3_8b"), {"workload.model=llama3_70b"}).layers == 80);
  CHECK(loaded(config_of("model: mixtral_8x7b, experts: {capacity_factor: 1.25}"))
            .transformer->experts->capacity_factor == 1.25);
}

TEST_CASE("where layers alternate a graph has as many as one that sees all tokens stands for") {
  const Workload decode = shelf("gpt_oss_120b", ", kind: llm_decode, context: 1000, batch: 3");
  CHECK(decode.layers == 18);
  const auto window_of = [&](const std::string& name) {
    for (const Kernel& kernel : decode.graph.kernels()) {
      if (kernel.name == name) return kernel.attention->window;
    }
    return std::int64_t{-1};
  };
  CHECK(window_of("L1.ATTENTION") == 128);
  CHECK(window_of("L2.ATTENTION") == 0);
  // Of a request 18 layers keep 128 tokens and 18 all of them.
  CHECK(decode.stored == Bytes(18.0 * (128.0 + 1000.0) * 2048.0 * 3.0 * 1024.0));
  CHECK(shelf("gpt_oss_120b", ", repeat_layers: 6").layers == 6);
}

TEST_CASE("a model trains, reads prompts and decodes") {
  const Workload training = shelf("llama3_8b");
  CHECK(training.graph == transformer_training_graph(*training.transformer, {.tokens = 8192}));
  CHECK(training.boundary == Bytes(4096.0 * 8192.0 * 2.0));
  const Workload prefill = shelf("llama3_8b", ", kind: llm_prefill, mask: causal");
  CHECK(prefill.graph ==
        transformer_forward_graph(*training.transformer, {.tokens = 8192, .causal = true}));
  CHECK(prefill.serving->tokens == 8192);
  const Workload decode = shelf("llama3_8b", ", kind: llm_decode, batch: 64");
  CHECK(decode.graph ==
        transformer_decode_graph(*training.transformer, {.tokens = 64, .context = 8192}));
  CHECK(decode.sequence == 1);
  CHECK(decode.stored == Bytes(131072.0 * 8192.0 * 64.0 * 1024.0));
  CHECK(decode.serving->tokens == 64);
  CHECK(decode.serving->boundary == Bytes(4096.0 * 64.0 * 2.0));
  const Workload later = shelf("llama3_8b", ", kind: llm_decode, context: 100");
  CHECK(later.graph ==
        transformer_decode_graph(*training.transformer, {.tokens = 1, .context = 100}));
}

TEST_CASE("without a key of these rules the layer is the published one") {
  const std::string keys =
      "kind: llm_training, hidden: 32, heads: 4, head_dim: 8, layers: 3, sequence: 32, "
      "global_batch: 4";
  CHECK_FALSE(loaded(config_of(keys)).transformer.has_value());
  CHECK_FALSE(loaded(config_of(keys)).counts.has_value());
  CHECK(loaded(config_of(keys + ", gated: true")).transformer.has_value());
}

TEST_CASE("every key reaches the model") {
  const Transformer all = *loaded(config_of(kSmall + ", value_dim: 6, gated: false, norm: layer, "
                                                     "bias: all, qk_norm: true, positions: 40, "
                                                     "tied: true, window: 9, dropout: true"))
                               .transformer;
  CHECK(all == Transformer{.hidden = 16,
                           .layers = 3,
                           .heads = 4,
                           .kv_heads = 2,
                           .head_dim = 8,
                           .value_dim = 6,
                           .mlp = 24,
                           .vocabulary = 50,
                           .positions = 40,
                           .window = 9,
                           .norm = Norm::Layer,
                           .bias = Bias::All,
                           .gated = false,
                           .qk_norm = true,
                           .tied = true,
                           .dropout = true});
  const Transformer experts =
      *loaded(config_of("kind: llm_training, hidden: 16, heads: 4, head_dim: 8, layers: 3, "
                        "sequence: 32, global_batch: 4, latent_attention: {query_rank: 5, "
                        "key_value_rank: 6, rope_dim: 3}, experts: {count: 9, used: 4, mlp: 7, "
                        "shared: 2, capacity_factor: 1.5, dense_layers: 1, router_bias: true}"))
           .transformer;
  CHECK(*experts.latent == LatentAttention{.query_rank = 5, .key_value_rank = 6, .rope_dim = 3});
  CHECK(*experts.experts == Experts{.count = 9,
                                    .used = 4,
                                    .mlp = 7,
                                    .shared = 2,
                                    .capacity_factor = 1.5,
                                    .dense_layers = 1,
                                    .router_bias = true});
  CHECK(experts.mlp == 64);
}

TEST_CASE("generated layers read back to the same graph and counts") {
  const auto check = [](const Workload& workload) {
    for (const std::string& text :
         {graph_yaml(workload) + kSystem, graph_yaml(workload) + kSystem}) {
      const Workload again = loaded(text);
      CHECK(again.graph == workload.graph);
      CHECK(again.counts == workload.counts);
      CHECK(again.serving == workload.serving);
      CHECK(again.boundary == workload.boundary);
      CHECK(again.stored == workload.stored);
      CHECK(again.layers == workload.layers);
    }
  };
  for (const std::string_view name : models_with_graphs()) {
    CAPTURE(name);
    for (const char* kind : {"llm_training", "llm_prefill", "llm_decode"}) {
      check(shelf(std::string(name), std::string(", kind: ") + kind));
    }
  }
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    test::RandomModels random(seed);
    Workload workload;
    const Transformer model = random.model();
    const TransformerPass pass{
        .tokens = random.pick(1, 40), .fused = true, .causal = random.chance()};
    workload.counts = count(model, pass.tokens, pass.word);
    workload.sequence = pass.tokens;
    workload.graph = transformer_training_graph(model, pass);
    check(workload);
  }
}

}  // namespace dfsearch
