#include "engine/calculon/find_execution.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <variant>

#include "base/counts.hpp"
#include "base/error.hpp"
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
    reasons.emplace_back("offload: differs from the config");
  }
  return reasons;
}

bool is_searched(const Task& task, const Execution& execution) {
  return ExecutionRules(task).cost(decisions_of(execution)).has_value();
}

// Counting and explaining compute no times.  Memory is computed once for all networks, and networks
// once for all shapes, so a space of millions is counted in hundredths of a second.

namespace {

constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

std::int64_t product(std::int64_t a, std::int64_t b) {
  return b != 0 && a > kGreatest / b ? kGreatest : a * b;
}

template <class List>
std::int64_t length(const List& list) {
  return static_cast<std::int64_t>(list.size());
}

template <class Call>
void for_each_degrees(const ExecutionSpace& space, const Deadline& deadline, Call call) {
  for (const std::int64_t tensor : space.tensor_degrees()) {
    for (const std::int64_t pipeline : space.pipeline_degrees(tensor)) {
      deadline.check();
      call(*space.with_degrees(tensor, pipeline));
    }
  }
}

/// Calls `call` with every schedule, that is, degrees, micro-batch and chunks.
template <class Call>
void for_each_schedule(const ExecutionSpace& space, const Deadline& deadline, Call call) {
  for_each_degrees(space, deadline, [&](Execution execution) {
    const std::vector<std::int64_t> chunk_counts = space.chunk_counts(execution);
    for (const std::int64_t micro_batch : space.micro_batches(execution)) {
      execution.micro_batch = micro_batch;
      for (const std::int64_t chunks : chunk_counts) {
        deadline.check();
        execution.chunks = chunks;
        call(execution);
      }
    }
  });
}

/// Calls `call` with every execution without its networks, and with its misfit, if it has one.
template <class Call>
void for_each_shape(const ExecutionSpace& space, const Execution& scheduled, Call call) {
  const Task& task = space.task();
  for (Execution shape : space.shapes(scheduled)) {
    const BlockMemory block =
        block_memory(block_kernels(task.transformer, shape), task.transformer, shape);
    const Schedule schedule = schedule_of(task.transformer, shape);
    for (const Offload& offload : space.offloads(shape)) {
      shape.offload = offload;
      const MemoryUse use = memory_use(block, schedule, task.transformer, shape);
      call(shape, memory_misfit(task.machine, shape, schedule, use));
    }
  }
}

/// Distance of a misfit from fitting; the least is the nearest.
using Distance = std::tuple<bool, bool, double, std::vector<std::int64_t>>;

Distance distance(const Execution& execution, const Misfit& misfit) {
  const bool memory = misfit.limit == Limit::FirstMemory || misfit.limit == Limit::SecondMemory;
  return {memory || misfit.limit == Limit::Blocks, misfit.limit == Limit::Blocks,
          misfit.needed / std::max(misfit.available, 1.0), decisions_of(execution)};
}

}  // namespace

std::int64_t count_candidates(const Task& task, const Deadline& deadline) {
  const ExecutionSpace space(task);
  std::int64_t count = 0;
  for_each_degrees(space, deadline, [&](Execution execution) {
    const std::int64_t placements =
        product(length(space.placements(execution)), length(space.data_overlaps(execution)));
    const std::int64_t chunk_counts = length(space.chunk_counts(execution));
    for (const std::int64_t micro_batch : space.micro_batches(execution)) {
      execution.micro_batch = micro_batch;
      std::int64_t shapes = 0;
      for (const Execution& shape : space.shapes(execution)) {
        shapes += length(space.offloads(shape));
      }
      count = saturating_sum(count, product(chunk_counts, product(shapes, placements)));
    }
  });
  return count;
}

std::int64_t count_feasible(const Task& task, const Deadline& deadline) {
  const ExecutionSpace space(task);
  std::int64_t count = 0;
  for_each_schedule(space, deadline, [&](const Execution& scheduled) {
    std::int64_t placements = 0;
    for (const auto& networks : space.placements(scheduled)) {
      Execution placed = scheduled;
      placed.networks = networks;
      placements += network_misfit(task.machine, placed) ? 0 : 1;
    }
    placements *= length(space.data_overlaps(scheduled));
    if (placements == 0) return;
    for_each_shape(space, scheduled, [&](const Execution&, const std::optional<Misfit>& misfit) {
      if (!misfit) count = saturating_sum(count, placements);
    });
  });
  return count;
}

std::optional<NearestMisfit> nearest_misfit(const Task& task, const Deadline& deadline) {
  const ExecutionSpace space(task);
  std::optional<NearestMisfit> nearest;
  std::optional<Distance> least;
  const auto offer = [&](const Execution& execution, const Misfit& misfit) {
    const Distance here = distance(execution, misfit);
    if (least && !(here < *least)) return;
    least = here;
    nearest = {.execution = execution, .misfit = misfit};
  };
  for_each_schedule(space, deadline, [&](const Execution& scheduled) {
    const std::vector<bool> overlaps = space.data_overlaps(scheduled);
    if (overlaps.empty()) return;
    for_each_shape(space, scheduled, [&](Execution shape, const std::optional<Misfit>& misfit) {
      shape.data_overlap = overlaps.front();
      if (misfit) {
        offer(shape, *misfit);
        return;
      }
      for (const auto& networks : space.placements(shape)) {
        shape.networks = networks;
        if (const auto unserved = network_misfit(task.machine, shape)) offer(shape, *unserved);
      }
    });
  });
  return nearest;
}

namespace {

void count(const Task& task, const StepSearch& search, ExecutionResult& result) {
  try {
    result.candidates = count_candidates(task, search.limits.deadline);
    if (search.count) result.feasible = count_feasible(task, search.limits.deadline);
  } catch (const Stopped&) {
    // Numbers that were not counted stay unknown.
  }
}

void explain(const Task& task, const StepSearch& search, ExecutionResult& result) {
  try {
    result.misfit = nearest_misfit(task, search.limits.deadline);
  } catch (const Stopped&) {
    // It is proved that nothing fits; the reason stays unknown.
  }
}

}  // namespace

ExecutionResult find_execution(const Task& task, const StepSearch& search) {
  ExecutionResult result;
  put_answers<FoundExecution>(
      find_steps(ExecutionRules(task), search), result,
      [&](const StepAnswer& answer, FoundExecution& found) {
        // The model recomputes the cost of the winner; the search must agree with it.
        found.execution = execution_of(*answer.decisions);
        auto verdict = evaluate(task.transformer, task.machine, *found.execution);
        const Cost* cost = std::get_if<Cost>(&verdict);
        if (!ruled_out(task, *found.execution).empty()) {
          throw InternalError("the execution found is not among the choices");
        }
        if (cost == nullptr || cost->step_time.in_base_units() != answer.cost.in_base_units()) {
          throw InternalError(
              "the search and the model disagree on the cost of the execution found");
        }
        found.cost = *cost;
      });
  count(task, search, result);
  if (result.status == SearchStatus::Infeasible) explain(task, search, result);
  return result;
}

}  // namespace dfsearch::calculon
