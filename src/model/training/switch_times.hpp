#pragma once
// The switches of software that decide the time of experts, and the step with each of them changed
// (docs/truth.md, section 11).

#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

struct SwitchValue {
  std::string_view key, value;
  std::string_view name;  ///< `key: value`
  void (*set)(stack::Software& software);
};

/// All values of the switches that the task does not have; empty without a stack or experts.
std::vector<SwitchValue> other_switch_values(const Task& task);

struct SwitchTime {
  SwitchValue to;
  Seconds step{};
};

/// The step of the same plan with each other value of a switch.  The plan must fit at the low ends
/// of memory with the options `assumed`.
std::vector<SwitchTime> switch_times(const Task& task, const LeanOptions& assumed,
                                     const Plan& plan);

}  // namespace dfsearch::training
