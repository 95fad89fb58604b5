#pragma once
// Configuration text -> values (docs/formats.md).

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "engine/calculon/execution_space.hpp"
#include "io/config/overrides.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/problem.hpp"
#include "model/serving/task.hpp"
#include "model/training/task.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Least memory with which a search can begin: 16 MiB.
inline constexpr Bytes kLeastMemoryLimit{16777216.0};

/// Settings of the search in a config; the command line overrides them.
struct SearchSettings {
  double gap = 0.0;
  Seconds time_limit = Seconds::infinity();
  std::optional<Bytes> memory_limit = std::nullopt;
};

struct Config {
  Problem problem;
  SearchSettings search;
  /// The design of the chips, if they are derived from a technology.
  std::optional<ChipDesign> design = std::nullopt;
  /// The chip of the design, unless its budget leaves something to the search.  If it is
  /// infeasible, the machine of the problem cannot run anything.
  std::optional<Chip> chip = std::nullopt;
  Seconds launch_overhead{};  ///< of a GEMM alone on a chip (docs/technology.md, section 4)
  std::vector<std::string> notes = {};  ///< on how files of other programs were read
};

/// The tree of a config with its files and changes merged, for further changes.
struct ConfigSource {
  std::filesystem::path file;
  YamlNode tree;
};

/// A config of Calculon's model (docs/calculon.md).
struct CalculonConfig {
  calculon::Task task;
  SearchSettings search;
  std::shared_ptr<const ConfigSource> source;  ///< not null in a loaded config
  std::vector<std::string> notes = {};         ///< on how files of other programs were read
};

/// A config of a plan of training steps (docs/training.md).
struct TrainingConfig {
  training::Task task;
  SearchSettings search;
  std::shared_ptr<const ConfigSource> source;  ///< not null in a loaded config
  std::vector<std::string> notes = {};         ///< on how files of other programs were read
};

/// A config of a deployment that serves (docs/serving.md).
struct ServingConfig {
  serving::Task task;              ///< with a fleet, the task of its first model
  serving::Fleet fleet;            ///< no models if there is a single task
  std::filesystem::path measured;  ///< a table of measured deployments; empty: none
  SearchSettings search;
  std::shared_ptr<const ConfigSource> source;  ///< not null in a loaded config
  std::vector<std::string> notes = {};         ///< on how files of other programs were read
};

/// A config of any kind.
using AnyConfig = std::variant<Config, CalculonConfig, TrainingConfig, ServingConfig>;

/// Reads a YAML or JSON config, follows its `from:` files, applies the overrides
/// ("system.network.0.degree=16") and checks everything that can be checked without a search.
/// Throws one InputError with all faults, each as `file:line:column: key: fault, expectation`.
Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// Loads a config of any kind: `equations: calculon` chooses Calculon's model, a section `training`
/// chooses plans, and the workload llm_serving deployments.  load_config refuses these three kinds.
AnyConfig load_any_config(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides);

/// The config with these values, KEY=VALUE, in place of its own.  Throws InputError.
AnyConfig changed_config(const ConfigSource& source, const std::vector<std::string>& changes);

/// Loads the chip alone: the config need not have a workload, nor its system a number of chips.
Config load_chip_config(const std::filesystem::path& file,
                        const std::vector<std::string>& overrides);

/// Loads the section `system` alone, with chips that are not derived from a technology or with the
/// design that they are to be derived from.
Config load_machine_config(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides);

/// load_config from text; `name` stands for the file in messages and for the folder of `from:`
/// files.
Config parse_config(const std::string& text, const std::filesystem::path& name,
                    const std::vector<std::string>& overrides = {});
AnyConfig parse_any_config(const std::string& text, const std::filesystem::path& name,
                           const std::vector<std::string>& overrides = {});

/// A config that is read once and then changed many times.  Any thread.
class ConfigTemplate {
 public:
  /// Parses the file.  Throws InputError.
  explicit ConfigTemplate(const std::filesystem::path& file);
  /// Takes a tree that is read already; paths in it are relative to the folder of `file`.
  ConfigTemplate(const std::filesystem::path& file, YamlNode tree);
  ConfigTemplate(ConfigTemplate&&) noexcept;
  ~ConfigTemplate();

  /// The config with these values in place of its own, like load_any_config.  Throws InputError.
  [[nodiscard]] AnyConfig with(const std::vector<Override>& changes) const;
  /// The tree of a config with its files merged, before it is checked.
  [[nodiscard]] YamlNode tree_with(const std::vector<Override>& changes) const;
  /// The tree of a config, valid in any folder (config_tree.hpp).  Throws InputError.
  [[nodiscard]] YamlNode portable_tree_with(const std::vector<Override>& changes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Sections of a config, each with the name of the command that answers it.
inline constexpr std::array<std::string_view, 3> kClosedForms = {"linpack", "fourier",
                                                                 "collective"};

}  // namespace dfsearch
