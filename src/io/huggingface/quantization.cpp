// Products have the number format of the activations, which are quantized as well or have 16 bits.
// Modules that the checkpoint excludes stay in 16 bits.

#include "io/huggingface/model_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "base/words.hpp"
#include "io/huggingface/family_file.hpp"
#include "model/serving/task.hpp"

namespace dfsearch {
namespace {

using serving::Module;

std::string pattern_of(std::string_view expression) {
  std::string pattern;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view two = expression.substr(i, 2);
    if (two == ".*" || two == "\\.") {
      pattern += two == ".*" ? '*' : '.';
      ++i;
    } else if (expression[i] != '^' && expression[i] != '$') {
      pattern += expression[i];
    }
  }
  // An expression without "$" also matches longer names.
  return expression.ends_with('$') ? pattern : pattern + '*';
}

/// A module, and its matrices by one of the sets of names that models use.
struct Matrices {
  Module module;
  std::vector<std::string_view> names;
};
const Matrices kMatrices[] = {
    {Module::Attention, {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}},
    {Module::Attention, {"self_attn.qkv_proj"}},
    {Module::Attention,
     {"self_attn.q_a_proj", "self_attn.q_b_proj", "self_attn.kv_a_proj_with_mqa",
      "self_attn.kv_b_proj"}},
    {Module::Attention,
     {"self_attn.q_proj", "self_attn.kv_a_proj_with_mqa", "self_attn.kv_b_proj"}},
    {Module::Dense, {"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}},
    {Module::Dense, {"mlp.gate_up_proj", "mlp.down_proj"}},
    {Module::Shared,
     {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj",
      "mlp.shared_experts.down_proj"}},
    {Module::Shared,
     {"mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj", "mlp.shared_expert.down_proj"}},
    {Module::Shared, {"feed_forward.shared_expert.gate_proj"}},
    {Module::Experts,
     {"mlp.experts.0.gate_proj", "mlp.experts.0.up_proj", "mlp.experts.0.down_proj"}},
    {Module::Router, {"mlp.gate"}},
    {Module::Router, {"mlp.router"}},
    {Module::Router, {"feed_forward.router"}},
    {Module::Router, {"block_sparse_moe.gate"}}};

/// The middle one of the layers that the patterns mention; 0 if there is none.
std::int64_t middle_layer(const std::vector<std::string>& patterns) {
  constexpr std::string_view kLayers = "layers.";
  constexpr std::size_t kMostDigits = 6;
  std::vector<std::int64_t> layers;
  for (const std::string& pattern : patterns) {
    std::size_t at = pattern.find(kLayers);
    if (at == std::string::npos) continue;
    at += kLayers.size();
    std::int64_t layer = 0;
    std::size_t digits = 0;
    for (; at < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[at])) != 0;
         ++at) {
      if (++digits > kMostDigits) break;
      layer = 10 * layer + (pattern[at] - '0');
    }
    if (digits > 0 && digits <= kMostDigits) layers.push_back(layer);
  }
  if (layers.empty()) return 0;
  const auto middle = layers.begin() + static_cast<std::ptrdiff_t>(layers.size() / 2);
  std::nth_element(layers.begin(), middle, layers.end());
  return *middle;
}

/// Returns whether a pattern names this module or one that contains it.  A pattern has some words
/// of the name, or is a shell pattern of the whole name, or, after "re:", a regular expression with
/// ".*", "\\.", "^", "$" and at most one choice "(a|b)".
bool keeps(std::string_view pattern, const std::string& module) {
  if (pattern.starts_with("re:")) {
    const std::size_t open = pattern.find('('), close = pattern.find(')', open);
    if (close == std::string_view::npos) {
      return fits_pattern(module, pattern_of(pattern.substr(3)));
    }
    // Each alternative is tried.
    const std::string_view words = pattern.substr(open + 1, close - open - 1);
    for (std::size_t begin = 0; begin <= words.size();) {
      const std::size_t end = std::min(words.find('|', begin), words.size());
      const std::string one =
          fmt::format("{}{}{}", pattern.substr(0, open), words.substr(begin, end - begin),
                      pattern.substr(close + 1));
      if (one.find('(') == std::string::npos && keeps(one, module)) return true;
      begin = end + 1;
    }
    return false;
  }
  if (pattern.find('*') != std::string_view::npos) {
    return fits_pattern(module, pattern) || fits_pattern(module, std::string(pattern) + ".*");
  }
  return fmt::format(".{}.", module).find(fmt::format(".{}.", pattern)) != std::string::npos;
}

/// Returns the modules whose matrices are all named by `patterns` (attention: all but its
/// projection) in the middle one of the layers that the patterns mention.
std::vector<Module> kept_modules(const std::vector<std::string>& patterns) {
  const std::int64_t layer = middle_layer(patterns);
  std::vector<Module> kept;
  for (const auto& [module, names] : kMatrices) {
    const bool all = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
      const std::string full = fmt::format("model.layers.{}.{}", layer, name);
      return std::any_of(patterns.begin(), patterns.end(),
                         [&](const std::string& pattern) { return keeps(pattern, full); });
    });
    if (all && std::find(kept.begin(), kept.end(), module) == kept.end()) kept.push_back(module);
  }
  return kept;
}

using serving::Number;

struct Way {
  std::string_view name;
  Number weights, products;
};

/// `quant_algo` of the Model Optimizer.
constexpr std::array kAlgorithms = {
    Way{"FP8", Number::Fp8, Number::Fp8},
    Way{"FP8_PER_CHANNEL_PER_TOKEN", Number::Fp8, Number::Fp8},
    Way{"FP8_BLOCK_SCALES", Number::Fp8, Number::Fp8},
    Way{"FP8_PB_WO", Number::Fp8, Number::Bf16},
    Way{"NVFP4", Number::Nvfp4, Number::Nvfp4},
    Way{"NVFP4_AWQ", Number::Nvfp4, Number::Nvfp4},
    Way{"W4A16", Number::Int4, Number::Bf16},
    Way{"W4A16_AWQ", Number::Int4, Number::Bf16},
    Way{"W4A16_GPTQ", Number::Int4, Number::Bf16},
    Way{"W4A16_MXFP4", Number::Mxfp4, Number::Bf16},
    Way{"W4A8_AWQ", Number::Int4, Number::Fp8},
    Way{"W4A8_NVFP4_FP8", Number::Nvfp4, Number::Fp8},
    Way{"W4A8_MXFP4_FP8", Number::Mxfp4, Number::Fp8},
    Way{"W8A16", Number::Int8, Number::Bf16},
    Way{"W8A8_SQ_PER_CHANNEL", Number::Int8, Number::Int8},
};
/// `quant_method` of quantization_config if it implies the formats; other methods also need `bits`.
constexpr std::array kMethods = {
    Way{"fp8", Number::Fp8, Number::Fp8},      Way{"fbgemm_fp8", Number::Fp8, Number::Fp8},
    Way{"mxfp4", Number::Mxfp4, Number::Bf16}, Way{"gptq", Number::Int4, Number::Bf16},
    Way{"awq", Number::Int4, Number::Bf16},
};

template <std::size_t n>
std::optional<Way> way_of(ModelFields& fields, const char* field, const std::array<Way, n>& ways) {
  const std::optional<std::string> name = fields.word(field);
  std::vector<std::string_view> names;
  for (const Way& way : ways) {
    if (name == way.name) return way;
    names.push_back(way.name);
  }
  fields.refuse(field, fmt::format("expected {}, got {}", joined_choices(names),
                                   name ? in_quotes(*name) : std::string("none")));
  return std::nullopt;
}

/// The modules that are not quantized, from all lists of them.
std::vector<std::string> kept_of(ModelFields& fields) {
  std::vector<std::string> all;
  for (const char* list : {"exclude_modules", "ignore", "modules_to_not_convert"}) {
    for (std::string& module : fields.list(list).value_or(std::vector<std::string>{})) {
      all.push_back(std::move(module));
    }
  }
  return all;
}

std::string text_of(const Way& way, const std::vector<std::string>& kept, std::string_view cache,
                    bool always_keeps_head = false) {
  std::string text = fmt::format("{{weights: {}", name_of(way.weights));
  if (way.products != serving::multiplied(way.weights)) {
    text += fmt::format(", products: {}", name_of(way.products));
  }
  const bool keeps_head = std::any_of(kept.begin(), kept.end(), [](const std::string& module) {
    return module.find("lm_head") != std::string::npos;
  });
  if (keeps_head || always_keeps_head) text += ", head: bf16";
  if (!cache.empty()) text += fmt::format(", cache: {}", cache);
  std::string modules;
  for (const serving::Module module : kept_modules(kept)) {
    modules += fmt::format("{}{}: bf16", modules.empty() ? "" : ", ", name_of(module));
  }
  if (!modules.empty()) text += fmt::format(", modules: {{{}}}", modules);
  return text + "}";
}

/// Integers with a scale for each group of `size`; sizes without a format of their own are ignored.
Number grouped(Number number, std::int64_t size) {
  if (number != Number::Int4) return number;
  return size == 32 ? Number::Int4G32 : size == 128 ? Number::Int4G128 : Number::Int4;
}

std::string cache_of(ModelFields& fields) {
  const std::string given = fields.word("kv_cache_quant_algo").value_or("");
  std::string lower = given;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.empty() || lower == "fp8" || lower == "int8" || lower == "nvfp4") return lower;
  fields.refuse("kv_cache_quant_algo",
                "expected FP8, INT8, NVFP4 or null, got " + in_quotes(given));
  return {};
}

std::string by_algorithm(ModelFields& fields) {
  const std::optional<Way> way = way_of(fields, "quant_algo", kAlgorithms);
  const std::string cache = cache_of(fields);
  const std::vector<std::string> kept = kept_of(fields);
  return way ? text_of(*way, kept, cache) : std::string();
}

/// The number format in a scheme of compressed-tensors for weights, activations or the cache.
std::optional<Number> number_of(std::optional<ModelFields> scheme) {
  if (!scheme) return std::nullopt;
  const bool is_float = scheme->word("type") == "float";
  switch (scheme->required_count("num_bits")) {
    case 8:
      return is_float ? Number::Fp8 : Number::Int8;
    case 4:
      return is_float ? Number::Nvfp4
                      : grouped(Number::Int4, scheme->count("group_size").value_or(0));
    default:
      scheme->refuse("num_bits", "expected 4 or 8");
      return std::nullopt;
  }
}

std::string by_scheme(ModelFields& fields) {
  std::optional<ModelFields> groups = fields.map("config_groups");
  std::optional<ModelFields> group = groups ? groups->map("group_0") : std::nullopt;
  const std::optional<Number> weights = group ? number_of(group->map("weights")) : std::nullopt;
  if (!weights) {
    fields.refuse("config_groups", "expected a group_0 with weights");
    return {};
  }
  const Number products = number_of(group->map("input_activations")).value_or(Number::Bf16);
  const std::optional<Number> cache = number_of(fields.map("kv_cache_scheme"));
  return text_of({"", *weights, products}, kept_of(fields), cache ? name_of(*cache) : "");
}

std::string by_method(ModelFields& fields) {
  const std::optional<std::string> method = fields.word("quant_method");
  if (method == "modelopt") return by_algorithm(fields);
  if (method == "compressed-tensors") return by_scheme(fields);
  std::optional<Way> way = way_of(fields, "quant_method", kMethods);
  if (!way) return {};
  if (const std::int64_t bits = fields.count("bits").value_or(4); way->weights == Number::Int4) {
    if (bits == 8) way->weights = Number::Int8;
    if (bits != 4 && bits != 8) {
      fields.refuse("bits", fmt::format("expected 4 or 8, got {}", bits));
    }
  }
  way->weights = grouped(way->weights, fields.count("group_size").value_or(0));
  // GPTQ, AWQ and the FP8 of DeepSeek do not quantize the head.
  return text_of(*way, kept_of(fields), {}, true);
}

}  // namespace

std::string precision_of(ModelFields& config) {
  std::optional<ModelFields> fields = config.map("quantization_config");
  if (!fields) return {};
  return by_method(*fields);
}

std::string precision_of_optimizer(ModelFields& file) {
  std::optional<ModelFields> fields = file.map("quantization");
  if (!fields) {
    file.refuse("quantization", "expected the map of a file hf_quant_config.json");
    return {};
  }
  return by_algorithm(*fields);
}

}  // namespace dfsearch
