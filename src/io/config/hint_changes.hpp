#pragma once
// A step that was found once, as values for the config that asks for one.

#include <filesystem>
#include <string>
#include <vector>

#include "io/text/yaml_tree.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {

/// KEY=VALUE for a config, and where the value stands.
struct HintChange {
  std::string text;
  Place place;
};
struct PlanHint {
  std::vector<HintChange> changes;
  std::vector<YamlEntry> workload;  ///< of launch arguments: what the config must have as well
  /// How its dimensions are divided, if the file has it; not among the changes.
  std::vector<training::Division> network;
  Place network_place;
  bool launches = false;           ///< they are launch arguments
  bool stages_inside = false;      ///< these number stages inside replicas (framework.hpp)
  std::vector<std::string> notes;  ///< on how these were taken
};

/// The decisions of a result (docs/results.md), or of YAML with its keys `parallelism`,
/// `micro_batch`, `plan` and `execution`, or of launch arguments (io/emit/read_arguments.hpp), for
/// a config with `training` or with `equations: calculon`: the config with them asks for that step
/// alone.  Keys that the file leaves out stay as in the config.  Throws InputError for a file that
/// has no such key.
PlanHint hint_changes(const std::filesystem::path& file);

}  // namespace dfsearch
