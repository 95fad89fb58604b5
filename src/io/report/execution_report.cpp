// The report of an execution: the question, the proof, the decisions, the parts of its time and
// memory, and the effort of the search.

#include "io/report/report.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/units_text.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {
namespace {

using calculon::ExecutionResult;
using calculon::FoundExecution;
using calculon::MemoryParts;
using calculon::Misfit;
using calculon::Task;

constexpr std::string_view kOne = "an execution";
constexpr std::string_view kNone = "no execution";

std::string machine_text(const Machine& machine) {
  std::string text = chips_text(machine);
  for (std::size_t i = 0; i < machine.network.size(); ++i) {
    text +=
        fmt::format("; network {}: up to {} at {}", i, plural(*machine.network[i].degree, "chip"),
                    to_text(machine.network[i].bandwidth));
  }
  return text;
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

std::string degrees_text(const calculon::Execution& execution) {
  return parallelism_text({execution.tensor, execution.pipeline, execution.data});
}

/// The decisions, one line for each group.
Sheet execution_lines(const calculon::Execution& execution) {
  return labelled("parallelism", degrees_text(execution)) +
         labelled("networks", fmt::format("tensor {}, pipeline {}, data {}", execution.networks[0],
                                          execution.networks[1], execution.networks[2])) +
         labelled("batch",
                  fmt::format("global {}, micro-batch {}, {} of a stage", execution.global_batch,
                              execution.micro_batch, plural(execution.chunks, "chunk"))) +
         labelled(
             "tensor ranks",
             fmt::format("communication {}, overlap {}, redo {}", name_of(execution.communication),
                         name_of(execution.overlap), yes_or_no(execution.redo))) +
         labelled("data ranks",
                  fmt::format("sharding {}, overlap {}", yes_or_no(execution.sharding),
                              yes_or_no(execution.data_overlap))) +
         labelled("activations", fmt::format("recompute {}, fused {}", name_of(execution.recompute),
                                             yes_or_no(execution.fused))) +
         labelled("offloaded", offload_text(execution.offload));
}

Sheet time_lines(const calculon::Cost& cost) {
  const calculon::StepTime& parts = cost.parts;
  return parts_of("time of the step", cost.step_time,
                  {{"forward", parts.forward},
                   {"backward", parts.backward},
                   {"recompute", parts.recompute},
                   {"optimizer", parts.optimizer},
                   {"tensor", parts.tensor},
                   {"tensor, again", parts.tensor_again},
                   {"pipeline", parts.pipeline},
                   {"bubble", parts.bubble},
                   {"data", parts.data},
                   {"offload", parts.offload}});
}

Sheet memory_lines(std::string_view title, const MemoryParts& parts, Bytes capacity) {
  const Bytes total = parts.total();
  if (!(total > Bytes{})) return {};
  return parts_of(fmt::format("{}: {} of {} ({})", title, to_text(total), to_text(capacity),
                              percent(total / capacity)),
                  total,
                  {{"weights", parts.weights},
                   {"activations", parts.activations},
                   {"gradients", parts.gradients},
                   {"weight gradients", parts.weight_gradients},
                   {"optimizer", parts.optimizer}});
}

std::string misfit_text(const Misfit& misfit) {
  const double over = misfit.needed - misfit.available;
  const auto bytes = [](double value) { return to_text(Bytes(value)); };
  switch (misfit.limit) {
    case calculon::Limit::FirstMemory:
    case calculon::Limit::SecondMemory:
      return fmt::format("{} of {} needed, {} available: {} too much", bytes(misfit.needed),
                         name_of(misfit.limit), bytes(misfit.available), bytes(over));
    case calculon::Limit::NetworkSize:
      return fmt::format("{:.0f} chips share network {}, which joins {:.0f}: {:.0f} too many",
                         misfit.needed, misfit.network, misfit.available, over);
    case calculon::Limit::NetworkFill:
      return fmt::format("{:.0f} chips share network {}, and do not divide its {:.0f}",
                         misfit.needed, misfit.network, misfit.available);
    case calculon::Limit::Blocks:
      return fmt::format("offloading needs {:.0f} blocks in a stage, there are {:.0f}",
                         misfit.needed, misfit.available);
  }
  return "";
}

Sheet reason_lines(const ExecutionResult& result) {
  if (result.misfit) {
    return labelled("reason", misfit_text(result.misfit->misfit) +
                                  ", in the execution that is nearest to fitting:") +
           "\n" + execution_lines(result.misfit->execution);
  }
  if (result.candidates == 0) {
    return labelled("reason",
                    "no execution is legal with the given values (docs/calculon.md, section 7)");
  }
  return labelled("reason", "not found: a limit or signal ended the search first");
}

}  // namespace

Sheet asked_text(const Task& task) {
  const calculon::ModelShape& model = task.transformer;
  return labelled("workload",
                  fmt::format("{}: {}, hidden {}, MLP {}, {} of {}, sequence {}",
                              model.training ? "llm_training" : "llm_prefill",
                              plural(model.layers, "layer"), model.hidden, model.mlp,
                              plural(model.heads, "head"), model.head_dim, model.sequence)) +
         labelled("machine", machine_text(task.machine)) + labelled("equations", "calculon");
}

std::string reason_text(const calculon::Task&, const ExecutionResult& result) {
  return result.misfit ? misfit_text(result.misfit->misfit) : "";
}

Sheet report_text(const Task& task, const ExecutionResult& result, const std::string& title) {
  Sheet text = title_line(title) + asked_text(task);
  text += "\n" + result_line(result, result.scope, kOne, kNone);
  if (result.status == SearchStatus::Infeasible) text += reason_lines(result);
  if (result.cost) {
    const FlopsPerSecond peak = task.machine.matrix.peak * static_cast<double>(task.machine.chips);
    text += step_lines(result, result.cost->step_time, result.cost->utilization, peak);
    text += top_lines(result, kOne, kNone,
                      [](const FoundExecution& found) { return degrees_text(*found.execution); });
    text += "\n";
    text += execution_lines(*result.execution) + time_lines(*result.cost);
    const calculon::MemoryUse& memory = result.cost->memory;
    text += memory_lines("memory", memory.first, task.machine.memory[0].capacity);
    if (task.machine.second_memory()) {
      text += memory_lines("second memory", memory.second, task.machine.memory[1].capacity);
    }
  }
  return text + "\n" + space_line(result, "candidate") + effort_line(result);
}

}  // namespace dfsearch
