#pragma once
// Which memory of the fullest stage is too small for any plan, and by how much.

#include "engine/training/find_plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

struct PlanLack {
  const char* limit = "memory";  ///< or "second memory"
  Bytes needed{};
  Bytes available{};
};

inline PlanLack lack_of(const training::Task& task, const training::Misfit& misfit) {
  const training::Machine& machine = task.machine;
  if (misfit.memory.total() > machine.memory.capacity || !machine.second) {
    return {.needed = misfit.memory.total(), .available = machine.memory.capacity};
  }
  return {.limit = "second memory",
          .needed = misfit.memory.second,
          .available = machine.second->capacity};
}

}  // namespace dfsearch
