#include "physics/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "physics/config_files.hpp"

namespace dfsearch::test {

namespace {

struct Unit {
  std::string_view name;
  double scale;
};

double unit_of(std::string_view text) {
  constexpr std::array kUnits = {
      Unit{"", 1.0},         Unit{"s", 1.0},        Unit{"ms", 1e-3},      Unit{"us", 1e-6},
      Unit{"ns", 1e-9},      Unit{"min", 60.0},     Unit{"h", 3600.0},     Unit{"mm", 1.0},
      Unit{"cm", 10.0},      Unit{"um", 1e-3},      Unit{"mm2", 1.0},      Unit{"cm2", 100.0},
      Unit{"um2", 1e-6},     Unit{"um2/bit", 1e-6}, Unit{"mW", 1e-3},      Unit{"mV", 1e-3},
      Unit{"pJ/bit", 1e-12}, Unit{"fJ/bit", 1e-15}, Unit{"pW/bit", 1e-12}, Unit{"nW/bit", 1e-9},
      Unit{"$/h", 1.0},      Unit{"/s", 1.0},       Unit{"/mm", 1.0}};
  for (const Unit& unit : kUnits) {
    if (text == unit.name) return unit.scale;
  }
  double scale = 1.0;
  if (text.ends_with("/s")) text.remove_suffix(2);
  if (text.ends_with("bit") || text.ends_with('b')) scale = 0.125;
  constexpr std::string_view kPrefixes = "kMGTPE";
  const std::size_t prefix = kPrefixes.find(text.front());
  if (prefix == std::string_view::npos) return scale;
  const bool binary = text.size() > 1 && text[1] == 'i';
  return scale * std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(prefix + 1));
}

}  // namespace

double amount(const Json& text) {
  if (text.is_number()) return text.get<double>();
  const std::string& written = text.get_ref<const std::string&>();
  char* end = nullptr;
  const double number = std::strtod(written.c_str(), &end);
  while (*end == ' ') ++end;
  return number * unit_of(end);
}

double count_of(const Json& map, const char* key, double otherwise) {
  const auto at = map.find(key);
  return at != map.end() && at->is_number() ? at->get<double>() : otherwise;
}

double word_of(const Json& workload) {
  return workload.contains("word") ? amount(workload["word"]) : 2.0;
}

double dlrm_bytes(const Json& workload, const char* key) {
  if (workload.contains(key)) return amount(workload[key]);
  return count_of(workload, "tables") * count_of(workload, "pooled_rows") *
         count_of(workload, "embedding") * count_of(workload, "local_batch") * word_of(workload);
}

double best_share(const Json& engine) {
  double best = engine.contains("efficiency") ? 0.0 : 1.0;
  for (const Json& step : engine.value("efficiency", Json::array())) {
    best = std::max(best, step[1].get<double>());
  }
  return best;
}

double peak_of(const Json& config) {
  const Json& system = config["system"];
  const Json execution = config.value("execution", Json::object());
  const Json matrix = execution.value("/efficiency/matrix"_json_pointer, Json::object());
  double peak = 0.0;
  if (execution.contains("stack")) {
    const Json chip = measured_chip(execution["chip"]);
    const std::string precision = value_or<std::string>(execution, "precision", "bf16");
    const bool is_4bit = precision == "nvfp4";
    const bool is_8bit = precision.find("fp8") != std::string::npos;
    peak = amount(chip[is_4bit ? "peak_4bit" : is_8bit ? "peak_8bit" : "peak_16bit"]);
  } else if (matrix.contains("peak")) {
    peak = amount(matrix["peak"]);
  } else if (system.contains("peak")) {
    peak = amount(system["peak"]);
  } else {
    const Json& chip = system["accelerator"];
    peak = 2.0 * count_of(chip, "cores") * count_of(chip, "lanes") * count_of(chip, "stages") *
           amount(chip["frequency"]);
  }
  return peak * best_share(matrix) * count_of(execution, "compute_utilization");
}

namespace {

bool is_by_rule(const Json& workload) {
  constexpr std::array keys = {"vocabulary", "kv_heads", "value_dim", "gated",
                               "norm",       "bias",     "qk_norm",   "positions",
                               "tied",       "window",   "dropout",   "experts",
                               "attention",  "mask",     "batch",     "latent_attention"};
  return std::any_of(keys.begin(), keys.end(),
                     [&](const char* key) { return workload.contains(key); });
}

/// Keys that the queries of a sample see, one of them on average.
double keys_of(const Json& workload) {
  const double window = count_of(workload, "window", 1e18);
  if (workload.contains("context")) {
    return std::min(window, count_of(workload, "context") + 1.0);
  }
  const double tokens = count_of(workload, "sequence");
  if (value_or<std::string>(workload, "mask", "full") == "full") return std::min(window, tokens);
  double pairs = 0.0;
  for (double query = 1.0; query <= tokens; ++query) pairs += std::min(window, query);
  return pairs / tokens;
}

/// Elements of the matrices of attention, and products of a query with one key and its value.
struct AttentionNumbers {
  double weights = 0.0;
  double products = 0.0;
  double cache = 0.0;  ///< elements of one token
  double heads = 1.0;  ///< that these are of
};

AttentionNumbers attention_numbers(const Json& workload, bool decode) {
  const double h = count_of(workload, "hidden");
  const double a = count_of(workload, "heads");
  const double d = count_of(workload, "head_dim");
  const double values = count_of(workload, "value_dim", d);
  if (!workload.contains("latent_attention")) {
    const double g = count_of(workload, "kv_heads", a);
    return {.weights = h * (a * d + g * d + g * values) + a * values * h,
            .products = a * (d + values),
            .cache = g * (d + values),
            .heads = g};
  }
  const Json& latent = workload["latent_attention"];
  const double rank = count_of(latent, "key_value_rank");
  const double query_rank = count_of(latent, "query_rank", 0.0);
  const double rope = count_of(latent, "rope_dim");
  const double queries = query_rank > 0.0 ? h * query_rank + query_rank * a * d : h * a * d;
  const double heads = rank * a * (d - rope + values);  // absorbed matrices have the same number
  return {.weights = queries + h * (rank + rope) + heads + a * values * h,
          .products = decode ? a * (2.0 * rank + rope) : a * (d + values),
          .cache = rank + rope};
}

LayerNumbers transformer_numbers(const Json& workload, bool dense) {
  const std::string kind = workload["kind"];
  const bool decode = kind == "llm_decode";
  const double h = count_of(workload, "hidden");
  const double tokens = decode ? count_of(workload, "batch") : count_of(workload, "sequence");
  const bool gated = is_by_rule(workload) && value_or(workload, "gated", true);
  const double matrices = gated ? 3.0 : 2.0;
  const AttentionNumbers attention = attention_numbers(workload, decode);
  LayerNumbers layer;
  layer.weights = attention.weights;
  layer.read = attention.weights;
  if (workload.contains("experts") && !dense) {
    const Json& experts = workload["experts"];
    const double one = matrices * h * count_of(experts, "mlp");
    const double shared = count_of(experts, "shared", 0.0) * one + h * count_of(experts, "count");
    layer.experts = count_of(experts, "count") * one;
    layer.weights += layer.experts + shared;
    layer.read += count_of(experts, "used") * one + shared;
  } else {
    layer.weights += matrices * h * count_of(workload, "mlp", 4.0 * h);
    layer.read = layer.weights;
  }
  layer.flops = 2.0 * tokens * (layer.read + attention.products * keys_of(workload));
  if (kind == "llm_training") layer.flops *= 3.0;
  if (decode) {
    layer.cache = tokens * attention.cache *
                  std::min(count_of(workload, "context"), count_of(workload, "window", 1e18));
    layer.heads = attention.heads;
  }
  return layer;
}

LayerNumbers graph_numbers(const Json& workload) {
  LayerNumbers layer;
  for (const Json& kernel : workload["kernels"]) {
    if (kernel["kind"] != "weight_gemm") continue;
    const double weight = count_of(kernel, "outer") * count_of(kernel, "M") * count_of(kernel, "K");
    if (!kernel.contains("weight_of")) layer.weights += weight;
    layer.flops += 2.0 * weight * count_of(kernel, "N");
  }
  return layer;
}

}  // namespace

LayerNumbers layer_numbers(const Json& workload, bool dense) {
  const std::string kind = workload["kind"];
  if (kind.starts_with("llm")) return transformer_numbers(workload, dense);
  if (kind == "graph") return graph_numbers(workload);
  LayerNumbers layer;
  if (kind == "lstm") {
    const double width = count_of(workload, "hidden");
    layer.weights = 8.0 * width * width * count_of(workload, "layers") +
                    count_of(workload, "vocabulary") * width;
    layer.flops =
        6.0 * layer.weights * count_of(workload, "steps") * count_of(workload, "local_batch");
    return layer;
  }
  if (kind.starts_with("dlrm")) {
    const double width = count_of(workload, "mlp");
    layer.weights = width * width * (count_of(workload, "bottom") + count_of(workload, "top"));
    layer.flops = 2.0 * layer.weights * count_of(workload, "local_batch");
    if (kind == "dlrm_training") layer.flops *= 3.0;
  } else if (kind == "hpl") {
    for (double i = 0.0; i < count_of(workload, "iterations"); ++i) {
      const double side = count_of(workload, "n") - i * count_of(workload, "block");
      layer.flops += 2.0 * side * side * count_of(workload, "block");
    }
  } else {
    // 34/9 N log2 N is the least that is known; two thirds of it for those to come.
    const double points = std::pow(std::floor(std::sqrt(count_of(workload, "length"))), 2.0);
    layer.flops = 2.5 * points * std::log2(points);
  }
  return layer;
}

LayerNumbers head_numbers(const Json& workload) {
  LayerNumbers head;
  head.weights = count_of(workload, "hidden") * count_of(workload, "vocabulary", 0.0);
  head.flops = 6.0 * head.weights * count_of(workload, "sequence");
  return head;
}

}  // namespace dfsearch::test
