#pragma once
// What a run that is described whole takes: no decision is left open (docs/truth.md, section 8).

#include <vector>

#include "base/units.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"
#include "model/training/step.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The network of a machine of measured chips: domains, and what joins them.
std::vector<NetworkDimension> network_of(const stack::MeasuredChip& chip, std::int64_t chips);

/// Roles in the order of software: tensor, context, expert, data and pipeline from the inside out.
/// Nothing if the domains cannot be divided so.
std::optional<std::vector<Division>> usual_network(const Machine& machine, const Degrees& degrees);

struct RunTime {
  Seconds step{};
  StepParts parts;
  MemoryUse memory;  ///< of the fullest stage
  bool fits = true;
  std::vector<std::int64_t> layers;  ///< of each stage
};

/// The task has a stack; the plan everything but `layers`, which are spread as they are best.
/// That memory does not suffice is reported, and timed all the same.
RunTime run_time(const Task& task, const Plan& plan);

}  // namespace dfsearch::training
