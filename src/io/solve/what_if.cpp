#include "io/solve/question.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "io/result/result_json.hpp"
#include "model/training/switch_times.hpp"

namespace dfsearch {
namespace {

constexpr double kMore = 1.1;

template <class Quantity>
void raise(Quantity& quantity) {
  quantity = kMore * quantity;
}

/// A quantity.  Its functions raise it in the machine, and in the measured chip of a plan with a
/// stack; they return false if the quantity has no effect.
struct Row {
  std::string_view more;
  bool (*of_machine)(Machine&);
  bool (*of_chip)(stack::MeasuredChip&);
};

const Row kRows[] = {{"peak",
                      [](Machine& machine) {
                        raise(machine.accelerator.frequency);
                        raise(machine.matrix.peak);
                        raise(machine.vector.peak);
                        return true;
                      },
                      [](stack::MeasuredChip& chip) {
                        for (FlopsPerSecond& peak : chip.peak) raise(peak);
                        return true;
                      }},
                     {"SRAM",
                      [](Machine& machine) {
                        raise(machine.accelerator.sram);
                        return machine.accelerator.sram > Bytes{};
                      },
                      [](stack::MeasuredChip&) { return false; }},
                     {"memory bandwidth",
                      [](Machine& machine) {
                        raise(machine.memory[0].bandwidth);
                        return true;
                      },
                      [](stack::MeasuredChip& chip) {
                        raise(chip.memory);
                        return true;
                      }},
                     {"memory capacity",
                      [](Machine& machine) {
                        raise(machine.memory[0].capacity);
                        return machine.memory[0].capacity < Bytes::infinity();
                      },
                      [](stack::MeasuredChip& chip) {
                        raise(chip.visible);
                        return true;
                      }},
                     {"network bandwidth",
                      [](Machine& machine) {
                        for (NetworkDimension& dimension : machine.network)
                          raise(dimension.bandwidth);
                        return !machine.network.empty();
                      },
                      [](stack::MeasuredChip& chip) {
                        for (BytesPerSecond& bus : chip.bus) raise(bus);
                        raise(chip.nic);
                        return true;
                      }}};

/// The config with a tenth more of the quantity; nothing if the quantity has no effect.
std::optional<AnyConfig> raised(const AnyConfig& any, const Row& row) {
  AnyConfig more = any;
  bool counts = true;
  if (auto* plan = std::get_if<TrainingConfig>(&more)) {
    const bool has_sram = plan->task.style == Style::Dataflow || row.more != "SRAM";
    counts = row.of_machine(plan->task.machine) && has_sram;
    if (plan->task.stack) counts = row.of_chip(plan->task.stack->chip);
  } else if (auto* execution = std::get_if<CalculonConfig>(&more)) {
    counts = row.of_machine(execution->task.machine) && row.more != "SRAM";
  } else {
    counts = row.of_machine(std::get<Config>(more).problem.system);
  }
  if (!counts) return std::nullopt;
  return more;
}

}  // namespace

void check_what_if(const AnyConfig& config) {
  if (std::holds_alternative<ServingConfig>(config)) {
    throw InputError("--what-if: not for deployments, whose reports always contain it");
  }
  const auto* mapping = std::get_if<Config>(&config);
  if (mapping != nullptr && mapping->design) {
    throw InputError(
        "--what-if: not for machines that are derived from budgets, whose reports contain the gain "
        "from more of each");
  }
}

std::vector<WhatIfMore> what_if(const AnyConfig& config, const SolveOptions& options) {
  SolveOptions plain;
  plain.limits = options.limits;
  plain.threads = options.threads;
  plain.deterministic = options.deterministic;
  plain.bounds = options.bounds;
  std::vector<WhatIfMore> rows;
  const auto add = [&](std::string_view name, bool is_switch, const AnyConfig& changed) {
    const Result result = solve(changed, plain);
    rows.push_back({.more = name,
                    .is_switch = is_switch,
                    .objective = result.objective,
                    .is_proved = result.status == SearchStatus::Optimal ||
                                 result.status == SearchStatus::Infeasible});
  };
  for (const Row& row : kRows) {
    if (const auto more = raised(config, row)) add(row.more, false, *more);
  }
  if (const auto* plan = std::get_if<TrainingConfig>(&config)) {
    for (const training::SwitchValue& value : training::other_switch_values(plan->task)) {
      TrainingConfig other = *plan;
      value.set(other.task.stack->stack.software);
      add(value.name, true, other);
    }
  }
  return rows;
}

std::string what_if_text(const std::vector<WhatIfMore>& rows, Score objective) {
  std::string text =
      "\nchange of the objective with a tenth more of one quantity, all else as it is\n";
  bool has_switches = false;
  for (const WhatIfMore& row : rows) {
    const int width = row.is_switch ? 24 : 18;
    if (row.is_switch && !std::exchange(has_switches, true)) {
      text += "with another switch of the software\n";
    }
    if (!row.objective) {
      text += fmt::format("  {:{}}{}\n", row.more, width,
                          row.is_proved ? "nothing fits" : "not known: no proof");
      continue;
    }
    const double change = row.objective->in_base_units() / objective.in_base_units() - 1.0;
    text += fmt::format("  {:{}}{:+.3g} %{}\n", row.more, width, 100.0 * change,
                        row.is_proved ? "" : ", not proved");
  }
  return text;
}

void add_what_if(AnswerJson& answer, const std::vector<WhatIfMore>& rows) {
  answer.tree["what_if"] = json_list(rows, [](const WhatIfMore& row) -> Json {
    return {{"more", row.more}, {"objective", or_null(row.objective)}, {"proved", row.is_proved}};
  });
}

}  // namespace dfsearch
