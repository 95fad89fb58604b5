// The first lines of reports of plans and mappings: model or workload, machine, rates, and given
// keys that have no effect.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/units_text.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "io/report/report.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "io/result/plan_lack.hpp"
#include "io/result/unused_keys.hpp"
#include "io/text/joined.hpp"
#include "model/kernel_rates.hpp"
#include "model/training/task.hpp"

namespace dfsearch {
namespace {

/// A caution if memory and links have rates that were measured on a chip and its node, while the
/// machine's own figures determine only capacity and topology.
Sheet other_links_line(const training::Task& task) {
  constexpr double kSame = 0.05;
  constexpr double kSameInNode = 0.5;      // looser: `bus` is the rate of collectives
  constexpr BytesPerSecond kNoTime{1e15};  // stands for no rate of links in a file
  const stack::MeasuredChip& chip = task.stack->chip;
  const auto differs = [](BytesPerSecond a, BytesPerSecond b, double most) {
    return std::abs(a / b - 1.0) > most;
  };
  std::vector<std::string> unused;
  const BytesPerSecond memory = task.machine.memory[0].bandwidth;
  if (chip.memory > BytesPerSecond{} && differs(memory, chip.memory, kSame)) {
    unused.push_back(fmt::format("memory at {}, not {}", to_text(chip.memory), to_text(memory)));
  }
  std::int64_t within = 1;
  for (const NetworkDimension& dimension : task.machine.network) {
    const bool is_node = within < chip.domain;
    const BytesPerSecond measured = !is_node           ? chip.nic
                                    : chip.bus.empty() ? BytesPerSecond{}
                                                       : chip.bus.back();
    if (dimension.degree) within *= *dimension.degree;
    if (dimension.degree == 1 || !(measured > BytesPerSecond{})) continue;
    if (!differs(dimension.bandwidth, measured, is_node ? kSameInNode : kSame)) continue;
    std::string links =
        measured < kNoTime
            ? fmt::format("links {} at {}, not {}", is_node ? "in a node" : "between nodes",
                          to_text(measured), to_text(dimension.bandwidth))
            : "the rate of products contains all exchanges, so links of any bandwidth are alike";
    if (unused.empty() || unused.back() != links) unused.push_back(std::move(links));
  }
  if (unused.empty()) return "";
  return labelled("caution", fmt::format("times are those of the measured {}: {}", chip.name,
                                         fmt::join(unused, "; ")));
}

/// A caution if the rates were measured on an accelerator with another peak.
Sheet other_chip_line(const training::Task& task) {
  constexpr double kSame = 0.05;  // data sheets round, and print boost clocks or base ones
  const stack::MeasuredChip& chip = task.stack->chip;
  const FlopsPerSecond own = task.machine.matrix.peak;
  const auto differs = [&](FlopsPerSecond peak) { return std::abs(own / peak - 1.0) > kSame; };
  // A machine may be described by the peak of the precision in use.
  const FlopsPerSecond peak = chip.peak[static_cast<std::size_t>(stack::Bits::Sixteen)];
  const FlopsPerSecond used = chip.peak[static_cast<std::size_t>(task.stack->bits())];
  if (!differs(peak) || !differs(used)) return "";
  return labelled(
      "caution",
      fmt::format("rates were measured on {}, whose peak is {}, but the chips of this machine have "
                  "a peak of {}: times are those of the measured chip; set execution.chip to the "
                  "chip of this machine",
                  chip.name.empty() ? "a chip" : chip.name, to_text(peak), to_text(own)));
}

Sheet unused_lines(const training::Task& task) {
  Sheet text;
  for (const UnusedKey& unused : unused_keys(task)) text += labelled("not modelled", unused.why);
  return text;
}

Sheet rates_line(const training::Task& task) {
  if (!task.stack) {
    const bool is_ideal = task.machine.matrix.efficiency.steps.empty();
    return labelled("rates", std::string(is_ideal ? "ideal, the peaks of the chip"
                                                  : "of kernels alone, by the curve of efficiency "
                                                    "that the config gives") +
                                 ": no stack given (docs/truth.md)");
  }
  return labelled("rates",
                  fmt::format("{}, with the software of a stack; linear layers in {}",
                              task.stack->chip.scaled
                                  ? "scaled from those measured on another chip (docs/systems.md)"
                                  : "measured",
                              name_of(task.stack->precision))) +
         other_chip_line(task) + other_links_line(task) +
         (task.model.mixed ? guessed_line(*task.model.mixed) : "");
}

}  // namespace

Sheet asked_text(const training::Task& task) {
  const Transformer& model = task.model;
  std::string shape = fmt::format("llm_training: {}, hidden {}, {} of {}, sequence {}",
                                  plural(model.layers, "layer"), model.hidden,
                                  plural(model.heads, "head"), model.head_dim, task.pass.tokens);
  if (model.mixed) shape += ", " + layer_summary(model.mixed->shape.stacks.front());
  if (model.experts) {
    shape += fmt::format(", {} experts of which a token uses {}", model.experts->count,
                         model.experts->used);
  }
  std::string machine = chips_text(task.machine);
  for (const NetworkDimension& dimension : task.machine.network) {
    machine +=
        fmt::format("; {} of {}{} at {}", topology_name(dimension), extent_text(dimension),
                    dimension.whole ? fmt::format(" (in place of {})", *dimension.whole) : "",
                    to_text(dimension.bandwidth));
  }
  return labelled("workload", shape) + model_line(count(model, task.pass.tokens, task.pass.word)) +
         labelled("machine", machine) + rates_line(task) +
         (task.style == Style::Dataflow
              ? labelled("style",
                         fmt::format("dataflow: kernels are fused in {} of SRAM where that is "
                                     "faster; exchanges do not overlap with compute",
                                     to_text(task.machine.accelerator.sram)))
              : "") +
         unused_lines(task);
}

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
  std::string text = plural(system.chips, "chip") + ", to be found by the search";
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

/// The line `rates` of a mapping, whose kernels are never measured.
Sheet given_rates_line(const Problem& problem) {
  if (!(problem.system.accelerator.peak() > FlopsPerSecond{})) return "";
  const std::optional<double>& share = problem.execution.compute_utilization;
  return labelled("rates", share ? fmt::format("ideal, except that compute reaches {} of the peak "
                                               "of the chip (execution.compute_utilization)",
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
