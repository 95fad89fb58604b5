#pragma once
// What an infeasible task lacks: memory for its fullest stage, options of software with which some
// plan fits, or any plan at all.

#include <string>
#include <vector>

#include "engine/training/find_plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

struct PlanLack {
  const char* limit = "memory";  ///< or "second memory"
  Bytes needed{};
  Bytes available{};
};

inline PlanLack lack_of(const training::Task& task, const training::Misfit& misfit) {
  const Machine& machine = task.machine;
  if (misfit.memory.total() > machine.memory[0].capacity || !machine.second_memory()) {
    return {.needed = misfit.memory.total(), .available = machine.memory[0].capacity};
  }
  return {.limit = "second memory",
          .needed = misfit.memory.second,
          .available = machine.memory[1].capacity};
}

/// The reason why there is no plan: features that the framework lacks, or keys that contradict all
/// other given values.
std::string no_plan_text(const training::Task& task, const training::NoPlan& why);

/// The options without which the plan does not fit, as keys: `training.loss=fused_linear`.
std::vector<std::string> assumed_keys(const training::LeanOptions& options);

}  // namespace dfsearch
