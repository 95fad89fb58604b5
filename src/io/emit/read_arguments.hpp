#pragma once
// Launch arguments of training frameworks, read as a plan: those that launch_arguments() writes,
// and those of users.

#include <string>
#include <vector>

#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// The values of launch arguments, and notes on how they were read.
struct LaunchArguments {
  YamlNode plan;
  bool stages_inside = false;      ///< ranks number stages inside replicas (framework.hpp)
  std::vector<std::string> notes;  ///< each `file:line:column: --flag: ...`
};

/// The keys `parallelism`, `micro_batch` and `plan` of a mapping file (docs/results.md), and under
/// `workload` the values that the config must have as well: `global_batch`, `sequence`, `layers`.
/// Values that the arguments leave to a rule of the framework that a plan cannot express are
/// omitted.  Arguments that do not change the plan are ignored, with a note on those with similar
/// names; `source` is their file.  Throws InputError for values that contradict each other, or that
/// no plan has, and for arguments of no framework known.
LaunchArguments read_launch_arguments(const std::string& text, const std::string& source);

}  // namespace dfsearch
