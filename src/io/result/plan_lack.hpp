#pragma once
// The memory of the fullest stage that is too small for any plan, and the amount missing; options
// of software with which some plan fits; or the reason why there is no plan, whatever memory holds.
// Keys of a machine that no plan depends on, where a config gives them.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/units_text.hpp"
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

struct UnusedKey {
  std::string_view key;
  std::string why;
};

inline std::vector<UnusedKey> unused_keys(const training::Task& task) {
  std::vector<UnusedKey> keys;
  const Accelerator& chip = task.machine.accelerator;
  const bool fuses = task.style == Style::Dataflow;
  if (chip.sram > Bytes{} && !fuses) {
    keys.push_back({"system.accelerator.sram",
                    fmt::format("on-chip memory ({} given): kernels of a plan read from memory and "
                                "write to it",
                                to_text(chip.sram))});
  }
  if (chip.dataflow != Dataflow::Output) {
    keys.push_back({"system.accelerator.dataflow",
                    "which operand stays in the arrays: plans count no cycles of cores"});
  }
  if (const Seconds latency = task.machine.memory[0].latency; latency > Seconds{}) {
    keys.push_back({"system.memory.latency",
                    fmt::format("the latency of the memory ({} given): kernels of a plan wait for "
                                "its bandwidth alone",
                                to_text(latency))});
  }
  if (const MemoryTier* second = task.machine.second_memory(); second && task.stack) {
    keys.push_back({"system.memory.second",
                    fmt::format("the second memory ({} given): copies to it are not timed with a "
                                "stack",
                                to_text(second->capacity))});
  }
  return keys;
}

}  // namespace dfsearch
