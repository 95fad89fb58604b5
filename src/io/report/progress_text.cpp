#include "io/report/progress_text.hpp"

#include <fmt/format.h>

#include "model/kernel_rates.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {
namespace {

constexpr const char* kColumns = "{:>11}  {:>12}  {:>10}  {:>10}  {:>7}  {:>11}  {:>7} {}";

/// Four digits and an exponent when there is no other way: columns must not move.
std::string count_text(std::int64_t count) {
  return count < 10'000'000'000 ? fmt::format("{}", count)
                                : fmt::format("{:.4g}", static_cast<double>(count));
}

}  // namespace

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
