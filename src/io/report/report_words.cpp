#include "io/report/report_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.hpp"
#include "base/version.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/text/input_messages.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch {

std::vector<std::string> words_of(const std::string& sentence) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin <= sentence.size()) {
    const std::size_t end = std::min(sentence.find(' ', begin), sentence.size());
    if (end > begin) words.push_back(sentence.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Sheet title_line(const std::string& title) {
  return fmt::format("dfsearch {}: {}\n", kVersion, escaped(title));
}

Sheet labelled(std::string_view label, const std::string& text) {
  return Facts{{{std::string(label), text}}};
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string percent(double share) { return fmt::format("{:.4g} %", 100.0 * share); }

std::string stop_text(StopReason reason) {
  switch (reason) {
    case StopReason::None:
      return "stopped";
    case StopReason::Time:
      return "stopped by the time limit";
    case StopReason::Nodes:
      return "stopped by the node limit";
    case StopReason::Signal:
      return "stopped by a signal";
  }
  return "";
}

std::string parallelism_text(const Parallelism& degrees) {
  return fmt::format("tensor {}, pipeline {}, data {}", degrees.tensor, degrees.pipeline,
                     degrees.data);
}

namespace {

/// The ranges of the guessed rates of some blocks.
std::string guessed_ends(const std::string& blocks) {
  const stack::ScanRates rates;
  std::string text;
  const auto add = [&](std::string_view what, const stack::Constant<double>& rate,
                       std::initializer_list<std::string_view> kinds) {
    const auto is_there = [&](std::string_view kind) {
      return (", " + blocks + ",").find(fmt::format(", {},", kind)) != std::string::npos;
    };
    if (std::none_of(kinds.begin(), kinds.end(), is_there)) return;
    text += fmt::format("{}{} {:.3g} to {:.3g} %", text.empty() ? "" : ", ", what,
                        100.0 * rate.front(), 100.0 * rate.back());
  };
  add("products", rates.products, {"mamba2", "lightning", "recurrence"});
  add("delta rules", rates.delta_rule, {"deltanet", "kda"});
  add("elementwise", rates.elementwise, {"mamba1", "shortconv", "recurrence"});
  add("indexes", rates.index, {"index"});
  return text.empty() ? text : fmt::format(" ({} of the peak)", text);
}

}  // namespace

Sheet guessed_line(const MixedLayers& layers) {
  const std::string blocks = layers.unmeasured();
  if (blocks.empty()) return "";
  return labelled("caution",
                  fmt::format("guessed: the rates of the blocks {} are those of single kernels{}; "
                              "no measured run contains these blocks (docs/truth.md, section 1)",
                              blocks, guessed_ends(blocks)));
}

Sheet model_line(const ModelCounts& counts) {
  std::string text = fmt::format("{} parameters", counts.parameters);
  if (counts.active_parameters != counts.parameters) {
    text += fmt::format(", {} of them used by a token", counts.active_parameters);
  }
  text += fmt::format("; {} for a token of training ({} without masked pairs)",
                      to_text(counts.training_flop_per_token),
                      to_text(counts.causal_training_flop_per_token));
  text += fmt::format("; {} of keys and values for a token", to_text(counts.cache_bytes_per_token));
  return labelled("model", text);
}

std::string extent_text(const NetworkDimension& dimension) {
  if (!dimension.mesh) return std::to_string(*dimension.degree);
  return fmt::format("{} x {}", dimension.mesh->width, dimension.mesh->height);
}

}  // namespace dfsearch
