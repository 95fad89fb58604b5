// The question of a mapping in a report: the workload, the machine, and the rates that time it.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units_text.hpp"
#include "graph/names.hpp"
#include "io/report/report.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "model/kernel_rates.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

std::string workload_text(const Workload& workload) {
  std::string text =
      fmt::format("{}: {}, {}; {}", name_of(workload.kind),
                  plural(static_cast<std::int64_t>(workload.graph.kernel_count()), "kernel"),
                  plural(static_cast<std::int64_t>(workload.graph.tensor_count()), "tensor"),
                  plural(workload.layers, "layer"));
  if (workload.sequence > 1) text += fmt::format(", sequence {}", workload.sequence);
  text += fmt::format(", global batch {}; {} per step", workload.global_batch,
                      to_text(workload.flops()));
  return workload.copies == 1 ? text : text + fmt::format(", {} copies", workload.copies);
}

std::string machine_text(const Machine& system) {
  const bool known = system.accelerator.peak() > FlopsPerSecond{};
  std::string text = plural(system.chips, "chip") + " that the search has to find";
  if (known) {
    text = fmt::format("{} of {}, {} SRAM, {} memory", plural(system.chips, "chip"),
                       to_text(system.accelerator.peak()), to_text(system.accelerator.sram),
                       to_text(system.memory[0].bandwidth));
  }
  if (const MemoryTier* second = system.second_memory()) {
    text += fmt::format(" and {} behind it", to_text(second->bandwidth));
  }
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    const NetworkDimension& dimension = system.network[d];
    text += fmt::format("{} {}", d == 0 ? ";" : ",",
                        topology_text(dimension.topology, dimension.degree));
    if (dimension.whole) text += fmt::format(" (in place of {})", *dimension.whole);
    if (dimension.bandwidth > BytesPerSecond{}) text += " at " + to_text(dimension.bandwidth);
  }
  return text;
}

/// The rates of a mapping; no kernel of a mapping is measured.
Sheet given_rates_line(const Problem& problem) {
  if (!(problem.system.accelerator.peak() > FlopsPerSecond{})) return "";
  const std::optional<double>& share = problem.execution.compute_utilization;
  return labelled("rates", share ? fmt::format("ideal, but for compute at {} of the peak of the "
                                               "chip (execution.compute_utilization)",
                                               percent(*share))
                                 : "ideal, the peaks of the cores, of memory and of links");
}

/// The stated peaks at which kernels run.
Sheet peaks_line(const Problem& problem) {
  if (!problem.system.peaks.stated()) return "";
  std::vector<std::pair<StatedPeak, std::int64_t>> counts;
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    const auto peak = peak_of(problem, kernel);
    if (!peak) continue;
    const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& each) {
      return each.first.name() == peak->name();
    });
    if (found == counts.end()) {
      counts.emplace_back(*peak, 1);
    } else {
      ++found->second;
    }
  }
  return labelled("peaks", joined(counts, ", ", [](const auto& each) {
                    return fmt::format("{} of {} for {}", each.first.name(),
                                       to_text(each.first.rate), plural(each.second, "kernel"));
                  }));
}

}  // namespace

std::string topology_text(Topology topology, std::optional<std::int64_t> degree) {
  return row_of(topology).before_degree + (degree ? std::to_string(*degree) : "any degree");
}

Sheet asked_text(const Problem& problem) {
  return labelled("workload", workload_text(problem.workload)) +
         (problem.workload.counts ? model_line(*problem.workload.counts) : "") +
         labelled("machine", machine_text(problem.system)) + given_rates_line(problem) +
         peaks_line(problem);
}

}  // namespace dfsearch
