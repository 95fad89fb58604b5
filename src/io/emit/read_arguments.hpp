#pragma once
// Launch arguments of training frameworks, written by training_arguments() or by users, read as a
// plan.

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
/// A value is omitted if the arguments leave it to a rule of the framework that no plan can
/// express.  Arguments that do not change the plan are ignored, with a note if their name is
/// similar to one that is read; `source` is the file in messages.  Throws InputError for values
/// that contradict each other, or that no plan has, and for arguments of an unknown framework.
LaunchArguments read_launch_arguments(const std::string& text, const std::string& source);

}  // namespace dfsearch
