#pragma once
// Launch arguments of frameworks that train, as a plan: arguments that launch_arguments() writes,
// and arguments of users.

#include <string>
#include <vector>

#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// The values of launch arguments, and notes on how they were taken.
struct LaunchArguments {
  YamlNode plan;
  bool stages_inside = false;      ///< ranks number stages inside replicas (framework.hpp)
  std::vector<std::string> notes;  ///< `file:line:column: --flag: ...` each
};

/// The keys `parallelism`, `micro_batch` and `plan` of a mapping file (docs/results.md), and under
/// `workload` what must be the config's own: `global_batch`, `sequence`, `layers`.  What the
/// arguments leave to the framework by a rule that a plan cannot say stays out.  Arguments that do
/// not change the plan are not looked at, with a note on those that are nearly ones that do;
/// `source` is their file.  Throws InputError for values that contradict each other, or that no
/// plan has, and for arguments of no framework known.
LaunchArguments read_launch_arguments(const std::string& text, const std::string& source);

}  // namespace dfsearch
