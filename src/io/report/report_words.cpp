#include "io/report/report_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/text/input_messages.hpp"
#include "model/kernel_rates.hpp"
#include "model/objective_rows.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch {
namespace {

constexpr const char* kColumns = "{:>11}  {:>12}  {:>10}  {:>10}  {:>7}  {:>11}  {:>7} {}";

/// A count, with four digits and an exponent if it is long, so that columns stay aligned.
std::string count_text(std::int64_t count) {
  return count < 10'000'000'000 ? fmt::format("{}", count)
                                : fmt::format("{:.4g}", static_cast<double>(count));
}

}  // namespace

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

/// The ranges of the guessed rates of some blocks, in parentheses.
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

std::string progress_header() {
  return fmt::format(kColumns, "time", "nodes", "open", "incumbent", "util", "lower bound", "gap",
                     " ");
}

ProgressScale scale_of(const Problem& problem) {
  return scale_of(problem.objective, problem.workload.flops(),
                  peak_of_products(problem) * static_cast<double>(problem.system.chips));
}

std::string progress_line(const Progress& progress, const ProgressScale& scale) {
  std::string incumbent = "-";
  std::string utilization = "-";
  std::string gap = "-";
  if (progress.incumbent < Score::infinity()) {
    incumbent = scale.text(progress.incumbent.in_base_units());
    if (scale.peak > FlopsPerSecond{}) {
      const Seconds step(progress.incumbent.in_base_units());
      utilization = fmt::format("{:.2f}%", 100.0 * (scale.work / step / scale.peak));
    }
    const double percents = 100.0 * relative_gap(progress.incumbent, progress.lower_bound);
    constexpr double kLeastShown = 0.005;
    gap = 0.0 < percents && percents < kLeastShown ? "<0.01%" : fmt::format("{:.2f}%", percents);
  }
  std::string letter(1, progress.found_by);
  if (progress.rank > 1) letter += fmt::format(" #{}", progress.rank);
  return fmt::format(kColumns, fmt::format("{:.1f} s", progress.time.in_base_units()),
                     count_text(progress.nodes), count_text(progress.open), incumbent, utilization,
                     scale.text(progress.lower_bound.in_base_units()), gap, letter);
}

}  // namespace dfsearch
