#pragma once
// Given keys of a machine that no plan depends on.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/units_text.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

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
