// Products have the number format of the activations, which are quantized as well or have 16 bits.
// Modules are not quantized where the checkpoint says so.

#include "io/huggingface/model_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/words.hpp"
#include "io/huggingface/kept_modules.hpp"
#include "model/serving/task.hpp"

namespace dfsearch {
namespace {

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
/// `quant_method` of quantization_config where it says all; the others have `bits`.
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

/// The modules that stay as they were, by all lists of them.
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

/// Integers with a scale for each group of `size`; groups of other sizes count as none.
Number grouped(Number number, std::int64_t size) {
  if (number != Number::Int4) return number;
  return size == 32 ? Number::Int4G32 : size == 128 ? Number::Int4G128 : Number::Int4;
}

/// The word of a cache that is quantized, or nothing.
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
  // GPTQ, AWQ and the FP8 of DeepSeek all leave the head as it was.
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
