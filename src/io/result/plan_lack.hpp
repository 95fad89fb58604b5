#pragma once
// The memory of the fullest stage that is too small for any plan, and the amount missing; options
// of software with which some plan fits; or the reason why there is no plan, whatever memory holds.

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

/// The reason: things that the framework lacks, or keys that go with nothing else that is given.
std::string no_plan_text(const training::Task& task, const training::NoPlan& why);

/// The keys of options that a plan fits with and not without: `training.loss=fused_linear`.
std::vector<std::string> assumed_keys(const training::LeanOptions& options);

}  // namespace dfsearch
