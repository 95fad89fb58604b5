#include "io/huggingface/kept_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

#include "io/huggingface/family_file.hpp"

namespace dfsearch {
namespace {

using serving::Module;

/// A regular expression as a pattern.
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
  // An expression without an end may go on.
  return expression.ends_with('$') ? pattern : pattern + '*';
}

/// A module, and matrices that make it, by one of the names that models give them.
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

/// The middle one of the layers that patterns mention; any if there is none.
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

}  // namespace

bool keeps(std::string_view pattern, const std::string& module) {
  if (pattern.starts_with("re:")) {
    const std::size_t open = pattern.find('('), close = pattern.find(')', open);
    if (close == std::string_view::npos) {
      return fits_pattern(module, pattern_of(pattern.substr(3)));
    }
    // A choice among several words.
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

}  // namespace dfsearch
