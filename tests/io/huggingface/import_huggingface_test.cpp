// Config files of checkpoints, written here from the published shapes: what they become, and
// what is refused of whole files.  Wrong fields are in tests/cli/transcripts/imports.txt.

#include "io/huggingface/import_huggingface.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {
namespace {

constexpr const char* kSystem =
    "system:\n"
    "  chips: 1\n"
    "  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}\n"
    "  memory: {bandwidth: 1 GB/s}\n";

const std::string kLlama =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "rope_scaling": null,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "hidden_act": "silu",
        "attention_bias": false, "bos_token_id": 128000, "use_cache": true})";

const std::string kMistral =
    R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 32000, "sliding_window": 4096, "max_position_embeddings": 32768})";

const std::string kMixtral =
    R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
        "sliding_window": null, "router_aux_loss_coef": 0.02, "output_router_logits": false})";

const std::string kQwen2 =
    R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "use_sliding_window": false, "sliding_window": 131072,
        "max_window_layers": 28, "max_position_embeddings": 131072})";

const std::string kQwen3 =
    R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": false,
        "attention_bias": false})";

const std::string kQwen3Moe =
    R"({"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 94, "num_attention_heads": 64, "num_key_value_heads": 4,
        "head_dim": 128, "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1536, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "norm_topk_prob": true})";

const std::string kDeepseek =
    R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 3, "moe_layer_freq": 1, "topk_method": "noaux_tc",
        "n_group": 8, "topk_group": 4, "scoring_func": "sigmoid", "vocab_size": 129280,
        "num_nextn_predict_layers": 1, "quantization_config": {"quant_method": "fp8"}})";

const std::string kGpt2 =
    R"({"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024,
        "n_ctx": 1024, "vocab_size": 50257, "activation_function": "gelu_new",
        "attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "layer_norm_epsilon": 1e-05})";

const std::string kGemma2 =
    R"({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336,
        "num_hidden_layers": 42, "num_attention_heads": 16, "num_key_value_heads": 8,
        "head_dim": 256, "vocab_size": 256000, "sliding_window": 4096, "sliding_window_size": 4096,
        "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
        "query_pre_attn_scalar": 256, "cache_implementation": "hybrid",
        "hidden_activation": "gelu_pytorch_tanh", "attention_bias": false,
        "max_position_embeddings": 8192})";

const std::string kGemma3 =
    R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
        "mm_tokens_per_image": 256, "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1152},
        "text_config": {"model_type": "gemma3_text", "hidden_size": 3840,
        "intermediate_size": 15360, "num_hidden_layers": 48, "num_attention_heads": 16,
        "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024}})";

const std::string kGptOss =
    R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
        "num_hidden_layers": 4, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 64, "vocab_size": 201088, "num_local_experts": 128, "num_experts_per_tok": 4,
        "experts_per_token": 4, "sliding_window": 128, "attention_bias": true,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                        "full_attention"],
        "initial_context_length": 4096, "swiglu_limit": 7.0, "router_aux_loss_coef": 0.9,
        "quantization_config": {"quant_method": "mxfp4",
                                "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}})";

const std::string kLlama4 =
    R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
        "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_hidden_layers": 48,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 202048, "attention_chunk_size": 8192, "interleave_moe_layer_step": 1,
        "no_rope_layers": [], "num_local_experts": 16, "num_experts_per_tok": 1,
        "attention_bias": false, "use_qk_norm": true, "max_position_embeddings": 10485760}})";

Workload imported(const std::string& text) {
  std::string config = import_huggingface(text, "config.json") + kSystem;
  const std::string plan = "training: {}\n";
  config.erase(config.find(plan), plan.size());
  return parse_config(config, "c.yaml").problem.workload;
}

/// All messages, or "accepted".
std::string message_of(const std::string& text) {
  try {
    import_huggingface(text, "config.json");
  } catch (const InputError& error) {
    std::string all;
    for (const std::string& message : error.messages()) all += (all.empty() ? "" : "\n") + message;
    return all;
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("an imported model is that of the shelf") {
  const auto shelf = [](const char* name) {
    return *parse_config(std::string("workload: {model: ") + name + "}\n" + kSystem, "c.yaml")
                .problem.workload.transformer;
  };
  CHECK(*imported(kLlama).transformer == shelf("llama3_8b"));
  CHECK(*imported(kMistral).transformer == shelf("mistral_7b"));
  CHECK(*imported(kQwen2).transformer == shelf("qwen2_5_7b"));
  CHECK(*imported(kQwen3).transformer == shelf("qwen3_8b"));
  CHECK(*imported(kDeepseek).transformer == shelf("deepseek_v3"));
  CHECK(*imported(kGpt2).transformer == shelf("gpt2_xl"));
  CHECK(*imported(kGemma3).transformer == shelf("gemma3_12b"));
  CHECK(imported(kGemma2).counts->parameters == 9'241'705'984);
  CHECK(imported(kQwen3Moe).counts->parameters == 235'093'634'560);
  Transformer gpt_oss = *imported(kGptOss).transformer;
  gpt_oss.layers = 36;
  CHECK(gpt_oss == shelf("gpt_oss_120b"));
  // Without a dense layer the width of the MLP has no effect.
  Transformer mixtral = *imported(kMixtral).transformer;
  CHECK(mixtral == shelf("mixtral_8x7b"));
}

TEST_CASE("sequence, word and what is left out") {
  CHECK(imported(kLlama).sequence == 8192);
  CHECK(imported(kMistral).transformer->window == 4096);
  CHECK(imported(replaced(kLlama, R"("torch_dtype": "bfloat16",)", "")).word == Bytes(2.0));
  const Transformer all_heads =
      *imported(replaced(kLlama, R"("num_key_value_heads": 8,)", "")).transformer;
  CHECK(all_heads.kv_heads == 32);
  CHECK(imported(
            replaced(kQwen3, R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)"))
            .transformer->tied);
  CHECK(imported(replaced(kDeepseek, R"("q_lora_rank": 1536)", R"("q_lora_rank": null)"))
            .transformer->latent->query_rank == 0);
  CHECK(imported(replaced(kQwen3Moe, "[]", "[0, 1]")).transformer->experts->dense_layers == 2);
}

TEST_CASE("whatever type a checkpoint is stored in, it is computed in 16 bits, with a note") {
  const auto notes_on = [](const std::string& text) {
    return notes_of_import(import_huggingface(text, "config.json", std::nullopt),
                           "config.json" + std::string(kAsImported));
  };
  for (const char* type : {"float32", "float8_e4m3fn", "float8_e5m2"}) {
    CAPTURE(type);
    const std::string text = replaced(kLlama, "bfloat16", type);
    CHECK(imported(text).word == Bytes(2.0));
    CHECK(notes_on(text) == std::vector{"config.json: Stored in " + std::string(type) +
                                        ", computed in bf16 unless the config says otherwise."});
  }
  for (const char* type : {"bfloat16", "float16"}) {
    CHECK(notes_on(replaced(kLlama, "bfloat16", type)).empty());
  }
  const std::string quantized = replaced(
      kLlama, "\"hidden_act\"", R"("quantization_config": {"quant_method": "fp8"}, "hidden_act")");
  CHECK(imported(quantized).word == Bytes(2.0));
  CHECK(notes_on(quantized) ==
        std::vector{std::string("config.json: Stored in {weights: fp8, head: bf16}, computed in "
                                "bf16 unless the config says otherwise.")});
}

TEST_CASE("a field that is missing has the default of the class") {
  CHECK(imported(replaced(kLlama, R"("hidden_size": 4096,)", "")).counts->parameters ==
        8'030'261'248);
  CHECK(imported(replaced(kMistral, R"("num_key_value_heads": 8,)", "")).transformer->kv_heads ==
        8);
}

TEST_CASE("biases of a half of a layer alone are counted") {
  const Workload biased =
      imported(replaced(kLlama, "\"attention_bias\": false", "\"attention_bias\": true"));
  CHECK(biased.transformer->bias == Bias::Qkv);
  CHECK(biased.transformer->layer_vectors == 4096);
  CHECK(biased.counts->parameters == 8'030'261'248 + 32 * (4096 + 2 * 1024 + 4096));
}

TEST_CASE("a model of layers that differ keeps its fields") {
  const auto section = [](const std::string& text) {
    return import_huggingface(text, "config.json");
  };
  const std::string late =
      replaced(replaced(kQwen2, R"("use_sliding_window": false)", R"("use_sliding_window": true)"),
               R"("max_window_layers": 28)", R"("max_window_layers": 14)");
  for (const std::string& text :
       {late, replaced(kQwen3Moe, "[]", "[3, 4]"),
        replaced(kQwen3Moe, R"("decoder_sparse_step": 1)", R"("decoder_sparse_step": 2)"),
        replaced(kLlama4, R"(layer_step": 1)", R"(layer_step": 2)")}) {
    const std::string found = section(text);
    CHECK(found.find("  family: ") != std::string::npos);
    CHECK(found.find(": a plan needs 'execution.stack'.") != std::string::npos);
    CHECK_THROWS_WITH_AS(parse_any_config(found + kSystem, "c.yaml"),
                         doctest::Contains("a plan without a stack needs the graphs of all layers"),
                         InputError);
  }
  CHECK(section(kLlama).find("family") == std::string::npos);
}

TEST_CASE("which layers see all tokens is read from the kinds of layers") {
  const auto model = [](const std::string& text) { return *imported(text).transformer; };
  CHECK(model(kGemma2).window == 4096);
  CHECK(model(kGemma2).full_attention_every == 2);
  CHECK(model(kLlama4).window == 8192);
  CHECK(model(kLlama4).full_attention_every == 4);
  CHECK(model(kLlama4).experts->shared == 1);
  const auto types = [](const std::string& list) {
    std::string text = kGptOss;
    const std::size_t begin = text.find("\"layer_types\": ["), end = text.find(']', begin);
    return text.replace(begin, end - begin, "\"layer_types\": [" + list);
  };
  const std::string full = "\"full_attention\"", near = "\"sliding_attention\"";
  const auto four = [&](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d) { return types(a + "," + b + "," + c + "," + d); };
  CHECK(model(four(near, near, near, full)).full_attention_every == 4);
  CHECK(model(four(near, near, near, near)).full_attention_every == 0);
  CHECK(model(four(near, near, near, near)).window == 128);
  CHECK(model(four(full, full, full, full)).window == 0);
  const std::string others = "  family: ";
  const auto section = [](const std::string& text) {
    return import_huggingface(text, "config.json");
  };
  CHECK(section(four(full, near, near, full)).find(others) != std::string::npos);
  CHECK(section(four(near, full, near, near)).find(others) != std::string::npos);
  CHECK(message_of(types(near + "," + full))
            .find("a list of 2 elements, expected one for each of 4 layers") != std::string::npos);
}

TEST_CASE("how a checkpoint is quantized stands in a comment") {
  const auto precision = [](const std::string& text,
                            const std::optional<std::string>& optimizer = std::nullopt) {
    const std::string found = import_huggingface(text, "config.json", optimizer);
    const std::size_t at = found.find("precision: ");
    return at == std::string::npos ? "" : found.substr(at + 11, found.find('\n', at) - at - 11);
  };
  const auto quantized = [](const std::string& by) {
    return replaced(kLlama, "\"use_cache\"", "\"quantization_config\": " + by + ", \"use_cache\"");
  };
  CHECK(precision(kLlama).empty());
  CHECK(precision(kGptOss) ==
        "{weights: mxfp4, products: bf16, head: bf16, modules: {attention: bf16}}");
  CHECK(precision(kDeepseek) == "{weights: fp8, head: bf16}");
  CHECK(precision(quantized(R"({"quant_method": "awq", "bits": 4, "group_size": 128})")) ==
        "{weights: int4_g128, head: bf16}");
  CHECK(precision(quantized(
            R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
                {"num_bits": 4, "type": "int", "group_size": 32}, "input_activations": null}},
                "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                           "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*mlp.gate$"]})")) ==
        "{weights: int4_g32, head: bf16, modules: {attention: bf16, dense: bf16, shared: bf16, "
        "router: bf16}}");
  CHECK(
      precision(quantized(
          R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert":
                ["model.layers.0.mlp.down_proj", "model.layers.1.self_attn.q_proj",
                 "model.layers.1.self_attn.k_proj", "model.layers.1.self_attn.v_proj",
                 "model.layers.3.mlp.down_proj", "lm_head"]})")) ==
      "{weights: fp8, head: bf16, modules: {attention: bf16}}");
  CHECK(precision(quantized(R"({"quant_method": "gptq", "bits": 8})")) ==
        "{weights: int8, products: bf16, head: bf16}");
  CHECK(precision(quantized(
            R"({"quant_method": "compressed-tensors", "ignore": ["lm_head"],
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"},
                "input_activations": {"num_bits": 8, "type": "float"}}},
                "kv_cache_scheme": {"num_bits": 8, "type": "float"}})")) ==
        "{weights: fp8, head: bf16, cache: fp8}");
  const auto optimizer = [](const std::string& algorithm, const std::string& cache) {
    return R"({"producer": {"name": "modelopt", "version": "0.23.0"}, "quantization": {
              "quant_algo": ")" +
           algorithm + R"(", "kv_cache_quant_algo": )" + cache +
           R"(, "group_size": 16, "exclude_modules": ["lm_head"]}})";
  };
  CHECK(precision(kLlama, optimizer("FP8", "\"FP8\"")) == "{weights: fp8, head: bf16, cache: fp8}");
  CHECK(precision(kLlama, optimizer("NVFP4", "null")) == "{weights: nvfp4, head: bf16}");
  CHECK(precision(kLlama, optimizer("W4A8_AWQ", "\"FP8\"")) ==
        "{weights: int4, products: fp8, head: bf16, cache: fp8}");
  CHECK(precision(kLlama, optimizer("W8A8_SQ_PER_CHANNEL", "null")) ==
        "{weights: int8, head: bf16}");
  CHECK(precision(kLlama, replaced(optimizer("NVFP4", "\"FP8\""), "[\"lm_head\"]",
                                   R"(["model.layers.1*", "model.layers.30.self_attn.q_a_proj",
                                       "model.layers.30.self_attn.q_b_proj",
                                       "model.layers.30.self_attn.kv_a_proj_with_mqa",
                                       "model.layers.30.self_attn.kv_b_proj",
                                       "model.layers.30.mlp.gate", "lm_head"])")) ==
        "{weights: nvfp4, head: bf16, cache: fp8, modules: {attention: bf16, router: bf16}}");
  // It goes before what the config says.
  CHECK(precision(kGptOss, optimizer("NVFP4", "null")) == "{weights: nvfp4, head: bf16}");
  CHECK_THROWS_WITH_AS(precision(kLlama, optimizer("MIXED_PRECISION", "null")),
                       doctest::Contains("hf_quant_config.json: quant_algo: expected FP8, "),
                       InputError);
  CHECK_THROWS_WITH_AS(precision(kLlama, optimizer("FP8", "\"FP3\"")),
                       doctest::Contains("kv_cache_quant_algo: expected FP8, INT8, NVFP4 or null"),
                       InputError);
  CHECK_THROWS_WITH_AS(precision(kLlama, "{}"), doctest::Contains("quantization: expected the map"),
                       InputError);
}

TEST_CASE("texts nested without an end are refused") {
  CHECK(message_of(std::string(1'000'000, '[')) ==
        "config.json: nested too deeply, expected at most 100 levels");
  std::string deep = "{\"x\": ";
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"a\": ";
  CHECK(message_of(deep) == "config.json: 'x': nested too deeply, expected at most 100 levels");
}

TEST_CASE("cut and damaged files never do worse than an InputError") {
  std::mt19937_64 random(5);
  for (const std::string& good : {kLlama, kDeepseek, kGpt2, kGptOss}) {
    for (std::size_t length = 0; length < good.size(); ++length) {
      CHECK(message_of(good.substr(0, length)) != "accepted");
    }
    for (int round = 0; round < 2000; ++round) {
      std::string text = good;
      text[random() % text.size()] = static_cast<char>(random() % 256);
      CHECK_NOTHROW(message_of(text));
    }
  }
}

TEST_CASE("a file is told from a setup by what it begins with, or by its name") {
  CHECK(is_huggingface_config("  {\"a\": 1}", "x.txt"));
  CHECK(is_huggingface_config("", "config.json"));
  CHECK_FALSE(is_huggingface_config("dataflow_graph {\n}", "setup.txt"));
}

}  // namespace dfsearch
