// Each family of models has a reader, which knows what the code of its models does with each
// field: what a missing one means, and which fields change neither kernels nor sizes.

#include "io/huggingface/model_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// The data type that the weights are stored in, if it is none of 16 bits.
std::string stored_type(ModelFields& fields) {
  constexpr std::array<std::string_view, 2> kOf16Bits = {"bfloat16", "float16"};
  constexpr std::array<std::string_view, 3> kOthers = {"float32", "float8_e4m3fn", "float8_e5m2"};
  const std::optional<std::string> older = fields.word("torch_dtype");
  const std::optional<std::string> newer = fields.word("dtype");
  const std::optional<std::string>& given = newer ? newer : older;
  const auto is_one_of = [&](const auto& types) {
    return std::find(types.begin(), types.end(), *given) != types.end();
  };
  if (!given || is_one_of(kOf16Bits)) return {};
  if (!is_one_of(kOthers)) {
    fields.refuse(newer ? "dtype" : "torch_dtype",
                  "expected bfloat16, float16, float32 or a float8, got " + in_quotes(*given));
  }
  return *given;
}

/// Fields that all families have and that change nothing.
void ignore_common(ModelFields& fields) {
  fields.ignore({"_name_or_path", "_attn_implementation", "architectures", "attention_dropout",
                 "attn_implementation", "auto_map", "bos_token_id", "eos_token_id", "hidden_act",
                 "initializer_range", "model_type", "pad_token_id", "pretraining_tp",
                 "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta",
                 "transformers_version", "use_cache"});
}

/// A shape with the fields that most families share.
Imported read_common(ModelFields& fields) {
  ignore_common(fields);
  Imported imported{.model = {}, .stored = stored_type(fields)};
  Transformer& model = imported.model;
  model.hidden = fields.required_count("hidden_size");
  model.layers = fields.required_count("num_hidden_layers");
  model.heads = fields.required_count("num_attention_heads");
  model.kv_heads = fields.count("num_key_value_heads").value_or(model.heads);
  model.head_dim =
      fields.count("head_dim").value_or(std::max<std::int64_t>(model.hidden / model.heads, 1));
  const bool derived = fields.has("hidden_size") && !fields.has("head_dim");
  if (derived && model.hidden % model.heads != 0) {
    fields.refuse("num_attention_heads",
                  fmt::format("expected a divisor of hidden_size, {}, where head_dim is missing, "
                              "got {}",
                              model.hidden, model.heads));
  }
  model.value_dim = model.head_dim;
  model.mlp = fields.required_count("intermediate_size");
  model.vocabulary = fields.required_count("vocab_size");
  model.tied = fields.flag("tie_word_embeddings", false);
  imported.sequence = fields.count("max_position_embeddings").value_or(2048);
  return imported;
}

/// Layers that alternate: one in `every` sees all tokens, the others `window`, unless the kinds of all
/// layers say something else.
void read_alternation(ModelFields& fields, const char* window, std::int64_t every,
                      Transformer& model) {
  model.window = fields.required_count(window);
  model.full_attention_every = every;
  const auto types = fields.list("layer_types");
  if (!types) return;
  const auto is_full = [](const std::string& type) { return type == "full_attention"; };
  const auto first = std::find_if(types->begin(), types->end(), is_full);
  model.full_attention_every = first == types->end() ? 0 : first - types->begin() + 1;
  if (model.full_attention_every == 1) model.window = model.full_attention_every = 0;
  bool right = static_cast<std::int64_t>(types->size()) == model.layers;
  for (std::int64_t layer = 0; right && layer < model.layers; ++layer) {
    const std::string& type = (*types)[static_cast<std::size_t>(layer)];
    right = is_full(type) == (model.full_layers(layer, layer + 1) == 1) &&
            (is_full(type) || type == "sliding_attention" || type == "chunked_attention");
  }
  if (right) return;
  fields.refuse("layer_types",
                fmt::format("expected full_attention in every layer or in every n-th, "
                            "else sliding_attention or chunked_attention, for {} "
                            "layers",
                            model.layers));
}

/// Soft caps and scales of queries change only some elementwise work within other kernels.
void ignore_gemma(ModelFields& fields) {
  fields.ignore({"cache_implementation", "final_logit_softcapping", "attn_logit_softcapping",
                 "hidden_activation", "query_pre_attn_scalar", "rope_local_base_freq",
                 "sliding_window_size"});
}

/// Biases of the projection as well: a config has biases of all matrices or of three.
void refuse_attention_bias(ModelFields& fields) {
  if (!fields.flag("attention_bias", false)) return;
  fields.refuse("attention_bias",
                "biases of the four matrices of attention alone are not "
                "understood, expected false");
}

Imported read_llama(ModelFields& fields) {
  Imported imported = read_common(fields);
  const bool attention = fields.flag("attention_bias", false);
  const bool mlp = fields.flag("mlp_bias", false);
  if (attention && mlp) imported.model.bias = Bias::All;
  if (attention != mlp) {
    fields.refuse(attention ? "attention_bias" : "mlp_bias",
                  "biases of one half of a layer alone are not understood, expected false or both "
                  "of attention_bias and mlp_bias");
  }
  return imported;
}

Imported read_mistral(ModelFields& fields) {
  Imported imported = read_common(fields);
  imported.model.window = fields.count("sliding_window").value_or(0);
  return imported;
}

/// Phi 3 and 4: products of queries, keys and values, and of both projections, are one each.
Imported read_phi3(ModelFields& fields) {
  Imported imported = read_mistral(fields);
  refuse_attention_bias(fields);
  fields.ignore({"embd_pdrop", "original_max_position_embeddings", "partial_rotary_factor"});
  imported.model.dropout = fields.share("resid_pdrop").value_or(0.0) > 0.0;
  return imported;
}

Imported read_gemma2(ModelFields& fields) {
  ignore_gemma(fields);
  fields.assume("head_dim", 256);
  Imported imported = read_common(fields);
  refuse_attention_bias(fields);
  imported.model.tied = fields.flag("tie_word_embeddings", true);
  imported.model.post_norm = true;
  read_alternation(fields, "sliding_window", 2, imported.model);
  return imported;
}

/// The files of Gemma 3 leave out what the code of its models has as well.
Imported read_gemma3(ModelFields& fields) {
  fields.assume("vocab_size", 262208);
  fields.assume("max_position_embeddings", 131072);
  fields.assume("num_attention_heads", 8);
  fields.assume("num_key_value_heads", 4);
  const std::int64_t every = fields.count("sliding_window_pattern", 2).value_or(6);
  fields.ignore({"_sliding_window_pattern", "use_bidirectional_attention"});
  Imported imported = read_gemma2(fields);
  imported.model.qk_norm = true;
  if (!fields.has("layer_types")) imported.model.full_attention_every = every;
  return imported;
}

Imported read_gpt_oss(ModelFields& fields) {
  Imported imported = read_common(fields);
  fields.ignore({"attention_bias", "experts_per_token", "initial_context_length",
                 "output_router_logits", "router_aux_loss_coef", "swiglu_limit"});
  imported.left_out = "the biases and the sinks of the softmax";
  imported.model.experts = Experts{.count = fields.required_count("num_local_experts"),
                                   .used = fields.required_count("num_experts_per_tok"),
                                   .mlp = imported.model.mlp};
  read_alternation(fields, "sliding_window", 2, imported.model);
  return imported;
}

/// Attention in chunks: a query sees what is before it in its chunk.
Imported read_llama4(ModelFields& fields) {
  Imported imported = read_common(fields);
  refuse_attention_bias(fields);
  fields.ignore({"_attn_implementation_autoset", "attn_scale", "attn_temperature_tuning",
                 "cross_attention_config", "cross_attention_layers", "floor_scale",
                 "for_llm_compressor", "intermediate_size_mlp", "moe_layers",
                 "output_router_logits", "router_aux_loss_coef", "router_jitter_noise",
                 "use_qk_norm"});
  imported.left_out =
      "the norms of queries and keys, which have no weights; a chunk is taken for a "
      "window of as many tokens";
  if (fields.count("interleave_moe_layer_step").value_or(1) != 1) {
    fields.refuse("interleave_moe_layer_step",
                  "layers with and without experts in turn are not understood, expected 1");
  }
  imported.model.experts = Experts{.count = fields.required_count("num_local_experts"),
                                   .used = fields.required_count("num_experts_per_tok"),
                                   .mlp = imported.model.mlp,
                                   .shared = 1};
  const std::int64_t every = fields.count("no_rope_layer_interval", 2).value_or(4);
  read_alternation(fields, "attention_chunk_size", every, imported.model);
  // 1 where a layer has rotary positions and chunks; an empty list is the usual one.
  const auto rotary = fields.list("no_rope_layers").value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < rotary.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    if ((rotary[i] == "0") == (imported.model.full_layers(layer, layer + 1) == 1)) continue;
    fields.refuse("no_rope_layers", fmt::format("expected 0 in every {}-th layer, else 1", every));
    break;
  }
  return imported;
}

Imported read_glm4(ModelFields& fields) {
  Imported imported = read_common(fields);
  fields.ignore({"partial_rotary_factor"});
  if (fields.flag("attention_bias", false)) imported.model.bias = Bias::Qkv;
  imported.model.post_norm = true;
  return imported;
}

Imported read_mixtral(ModelFields& fields) {
  Imported imported = read_mistral(fields);
  fields.ignore({"output_router_logits", "router_aux_loss_coef", "router_jitter_noise"});
  imported.model.experts = Experts{.count = fields.required_count("num_local_experts"),
                                   .used = fields.required_count("num_experts_per_tok"),
                                   .mlp = imported.model.mlp};
  return imported;
}

/// The window of the layers from `max_window_layers` on, where it is in use.
void read_late_window(ModelFields& fields, Transformer& model) {
  const bool used = fields.flag("use_sliding_window", false);
  const std::optional<std::int64_t> window = fields.count("sliding_window");
  const std::int64_t from = fields.count("max_window_layers", 0).value_or(0);
  fields.ignore({"layer_types"});
  if (!used || !window || from >= model.layers) return;
  model.window = *window;
  if (from == 0) return;
  fields.refuse("max_window_layers",
                fmt::format("a window in some layers only is not understood, expected 0 or at "
                            "least {}, got {}",
                            model.layers, from));
}

Imported read_qwen2(ModelFields& fields) {
  Imported imported = read_common(fields);
  imported.model.bias = Bias::Qkv;
  read_late_window(fields, imported.model);
  return imported;
}

Imported read_qwen3(ModelFields& fields) {
  Imported imported = read_common(fields);
  imported.model.qk_norm = true;
  refuse_attention_bias(fields);
  read_late_window(fields, imported.model);
  return imported;
}

/// Layers without experts, which must be the first ones.
std::int64_t read_dense_layers(ModelFields& fields) {
  const std::set<std::int64_t> layers =
      fields.counts("mlp_only_layers").value_or(std::set<std::int64_t>{});
  const auto dense = static_cast<std::int64_t>(layers.size());
  if (layers.empty() || *layers.rbegin() == dense - 1) return dense;
  fields.refuse("mlp_only_layers",
                "layers without experts behind layers with them are not "
                "understood, expected the first ones");
  return 0;
}

Imported read_qwen3_moe(ModelFields& fields) {
  Imported imported = read_qwen3(fields);
  fields.ignore({"norm_topk_prob", "output_router_logits", "router_aux_loss_coef"});
  if (fields.count("decoder_sparse_step").value_or(1) != 1) {
    fields.refuse("decoder_sparse_step",
                  "layers with and without experts in turn are not "
                  "understood, expected 1");
  }
  imported.model.experts = Experts{.count = fields.required_count("num_experts"),
                                   .used = fields.required_count("num_experts_per_tok"),
                                   .mlp = fields.required_count("moe_intermediate_size"),
                                   .dense_layers = read_dense_layers(fields)};
  return imported;
}

/// The experts of DeepSeek and of models like it.
Experts routed_experts(ModelFields& fields, bool has_bias) {
  return {.count = fields.required_count("n_routed_experts"),
          .used = fields.required_count("num_experts_per_tok"),
          .mlp = fields.required_count("moe_intermediate_size"),
          .shared = fields.count("n_shared_experts", 0).value_or(0),
          .dense_layers = fields.count("first_k_dense_replace", 0).value_or(0),
          .router_bias = has_bias};
}

Imported read_deepseek(ModelFields& fields) {
  Imported imported = read_common(fields);
  Transformer& model = imported.model;
  refuse_attention_bias(fields);
  fields.ignore({"aux_loss_alpha", "ep_size", "n_group", "norm_topk_prob", "num_key_value_heads",
                 "num_nextn_predict_layers", "routed_scaling_factor", "scoring_func", "seq_aux",
                 "topk_group", "rope_interleave", "qk_head_dim", "head_dim"});
  const std::int64_t plain = fields.required_count("qk_nope_head_dim");
  const std::int64_t rope = fields.required_count("qk_rope_head_dim");
  model.head_dim = plain + rope;
  model.value_dim = fields.required_count("v_head_dim");
  model.kv_heads = model.heads;
  model.latent = LatentAttention{.query_rank = fields.count("q_lora_rank").value_or(0),
                                 .key_value_rank = fields.required_count("kv_lora_rank"),
                                 .rope_dim = rope};
  if (fields.count("moe_layer_freq").value_or(1) != 1) {
    fields.refuse("moe_layer_freq",
                  "layers with and without experts in turn are not understood, expected 1");
  }
  // Without a method the type has the one of its release.
  const bool has_bias =
      fields.word("topk_method")
          .value_or(fields.word("model_type") == "deepseek_v3" ? "noaux_tc" : "") == "noaux_tc";
  model.experts = routed_experts(fields, has_bias);
  return imported;
}

/// GLM 4.5 and later: grouped queries and experts as of DeepSeek.
Imported read_glm4_moe(ModelFields& fields) {
  Imported imported = read_common(fields);
  fields.ignore({"n_group", "norm_topk_prob", "num_nextn_predict_layers", "partial_rotary_factor",
                 "routed_scaling_factor", "topk_group"});
  if (fields.flag("attention_bias", false)) imported.model.bias = Bias::Qkv;
  imported.model.qk_norm = fields.flag("use_qk_norm", false);
  imported.model.experts = routed_experts(fields, true);
  return imported;
}

Imported read_gpt2(ModelFields& fields) {
  fields.ignore({"_name_or_path", "_num_labels", "activation_function", "architectures",
                 "bos_token_id", "embd_pdrop", "eos_token_id", "finetuning_task", "id2label"});
  fields.ignore({"initializer_range", "label2id", "layer_norm_epsilon", "model_type", "n_ctx",
                 "output_past", "pad_token_id", "reorder_and_upcast_attn",
                 "scale_attn_by_inverse_layer_idx"});
  fields.ignore({"scale_attn_weights", "summary_activation", "summary_first_dropout",
                 "summary_proj_to_labels", "summary_type", "summary_use_proj",
                 "task_specific_params", "transformers_version", "use_cache"});
  Imported imported{.model = {}, .stored = stored_type(fields)};
  Transformer& model = imported.model;
  model = {.hidden = fields.required_count("n_embd"),
           .layers = fields.required_count("n_layer"),
           .heads = fields.required_count("n_head"),
           .vocabulary = fields.required_count("vocab_size"),
           .positions = fields.required_count("n_positions"),
           .norm = Norm::Layer,
           .bias = Bias::All,
           .gated = false,
           .tied = fields.flag("tie_word_embeddings", true)};
  model.kv_heads = model.heads;
  model.head_dim = model.value_dim = std::max<std::int64_t>(model.hidden / model.heads, 1);
  if (fields.has("n_embd") && model.hidden % model.heads != 0) {
    fields.refuse("n_head", fmt::format("expected a divisor of n_embd, {}, got {}", model.hidden,
                                        model.heads));
  }
  model.mlp = fields.count("n_inner").value_or(4 * model.hidden);
  const bool of_scores = fields.share("attn_pdrop").value_or(0.1) > 0.0;
  model.dropout = fields.share("resid_pdrop").value_or(0.1) > 0.0 || of_scores;
  if (fields.flag("add_cross_attention", false)) {
    fields.refuse("add_cross_attention",
                  "attention to another sequence is not understood, "
                  "expected false");
  }
  imported.sequence = model.positions;
  return imported;
}

struct Family {
  const char* name;
  Imported (*read)(ModelFields&);
};

constexpr Family kFamilies[] = {{"llama", read_llama},
                                {"mistral", read_mistral},
                                {"mixtral", read_mixtral},
                                {"qwen2", read_qwen2},
                                {"qwen3", read_qwen3},
                                {"qwen3_moe", read_qwen3_moe},
                                {"phi3", read_phi3},
                                {"gemma2", read_gemma2},
                                {"gemma3_text", read_gemma3},
                                {"gpt_oss", read_gpt_oss},
                                {"llama4_text", read_llama4},
                                {"deepseek_v2", read_deepseek},
                                {"deepseek_v3", read_deepseek},
                                {"kimi_k2", read_deepseek},
                                {"glm4", read_glm4},
                                {"glm4_moe", read_glm4_moe},
                                {"gpt2", read_gpt2}};

}  // namespace

Imported read_model(ModelFields& fields) {
  const std::optional<std::string> type = fields.word("model_type");
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    if (type == family.name) {
      Imported imported = family.read(fields);
      imported.family = family.name;
      return imported;
    }
    names.emplace_back(family.name);
  }
  fields.refuse("model_type", fmt::format("expected {}, got {}{}", joined_choices(names),
                                          type ? in_quotes(*type) : std::string("none"),
                                          type ? suggestion(*type, names) : std::string()));
  fields.messages().throw_if_any();
  throw InternalError("an input message was lost");
}

}  // namespace dfsearch
