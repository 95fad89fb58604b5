#include "engine/calculon/given_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "engine/calculon/execution_rules.hpp"

namespace dfsearch::calculon {

RuledOut ruled_out(const Task& task, const Execution& execution) {
  const ExecutionChoices& choices = task.choices;
  RuledOut reasons;
  const auto check = [&](std::string_view key, const auto& choice, const auto& value,
                         const auto& text) {
    if (choice && *choice != value) add_reason(key, text(*choice), text(value), reasons);
  };
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  const auto name = [](auto value) { return std::string(name_of(value)); };
  check("tensor", choices.tensor, execution.tensor, number);
  check("pipeline", choices.pipeline, execution.pipeline, number);
  check("data", choices.data, execution.data, number);
  check("global_batch", choices.global_batch, execution.global_batch, number);
  check("micro_batch", choices.micro_batch, execution.micro_batch, number);
  check("chunks", choices.chunks, execution.chunks, number);
  check("recompute", choices.recompute, execution.recompute, name);
  check("communication", choices.communication, execution.communication, name);
  check("overlap", choices.overlap, execution.overlap, name);
  check("redo", choices.redo, execution.redo, flag);
  check("data_overlap", choices.data_overlap, execution.data_overlap, flag);
  check("sharding", choices.sharding, execution.sharding, flag);
  check("networks", choices.networks, execution.networks,
        [](const auto& networks) { return fmt::format("{}", networks); });
  if (choices.fused != execution.fused) {
    add_reason("fused", flag(choices.fused), flag(execution.fused), reasons);
  }
  if (choices.offload && *choices.offload != execution.offload) {
    reasons.emplace_back("offload: it is another one than that of the config");
  }
  return reasons;
}

bool is_searched(const Task& task, const Execution& execution) {
  return ExecutionRules(task).cost(decisions_of(execution)).has_value();
}

}  // namespace dfsearch::calculon
