#pragma once
// A step that was found earlier, as values for a config.

#include <filesystem>
#include <string>
#include <vector>

#include "io/text/yaml_tree.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {

/// KEY=VALUE for a config, and the place of the value.
struct HintChange {
  std::string text;
  Place place;
};
struct PlanHint {
  std::vector<HintChange> changes;
  std::vector<YamlEntry> workload;  ///< launch arguments: keys that the config must match
  /// Divisions of the network's dimensions, if the file has them; not among the changes.
  std::vector<training::Division> network;
  Place network_place;
  bool launches = false;           ///< the file has launch arguments
  bool stages_inside = false;      ///< the arguments number stages inside replicas (framework.hpp)
  std::vector<std::string> notes;  ///< on how the arguments were read
};

/// The decisions of a result (docs/results.md), or of YAML with its keys `parallelism`,
/// `micro_batch`, `plan` and `execution`, or of launch arguments (io/emit/read_arguments.hpp), for
/// a config with `training` or with `equations: calculon`.  A config with these decisions has this
/// step as its only answer.  Keys that the file leaves out stay as in the config.  Throws
/// InputError for a file that has no such key.
PlanHint hint_changes(const std::filesystem::path& file);

}  // namespace dfsearch
