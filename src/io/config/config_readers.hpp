#pragma once
// The readers of configs by kind, and of the sections that describe plans and the rates of a chip
// (docs/formats.md, docs/training.md).

#include <cstdint>
#include <optional>

#include "engine/calculon/execution_space.hpp"
#include "io/config/config_rates.hpp"
#include "io/config/config_system.hpp"
#include "io/config/load_config.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/map_reader.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/stack/stack.hpp"
#include "model/training/task.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// Reads all sections; `start` is where the config begins.
TrainingConfig read_training_config(YamlNode root, const Place& start, InputMessages& messages);

/// Whether the workload of a config is of this kind, or it has a section `serving`.
bool is_serving_config(const YamlNode& root);

/// Reads all sections; `start` is where the config begins.
ServingConfig read_serving_config(const YamlNode& root, const Place& start,
                                  InputMessages& messages);

/// If stages divide the graph, replaces it by the graph of the whole model: all layers, named L1.A
/// and so on if there are several, without seams after the last layer.  Reports features that
/// such stages do not support.  All other parts of the config have been read, and their
/// mistakes are in the messages.
void resolve_defaults_of_stages(const YamlNode& root, Config& config, InputMessages& messages);

const Schema& schema_of(Rows<calculon::ModelShape>);
/// The section `calculon`; the task has the values of other sections already.
const Schema& schema_of(Rows<calculon::Task>);

/// Reads a whole config whose `from:` files are merged; mistakes go to the messages.
CalculonConfig read_calculon_config(const YamlNode& root, const Place& start,
                                    InputMessages& messages);

Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages);

struct EngineSection {
  std::optional<FlopsPerSecond> peak;
  EfficiencyCurve<Flops> efficiency;
};
struct VectorSection {
  EngineSection engine;
  std::optional<double> of_matrix;
};
struct RatesSection {
  std::optional<EngineSection> matrix;
  std::optional<VectorSection> vector;
  std::optional<EfficiencyCurve<Bytes>> memory, second;
};
struct PlanExecutionSection {
  Style style = Style::KernelByKernel;
  std::optional<std::int64_t> partitions;
  Overlap overlap = Overlap::None;
  std::optional<double> compute_utilization;
  std::optional<RatesSection> efficiency;
  std::optional<stack::Stack> stack;
  std::optional<stack::MeasuredChip> chip;
  std::optional<stack::Precision> precision;
};

const Schema& schema_of(Rows<EngineSection>);
const Schema& schema_of(Rows<VectorSection>);
const Schema& schema_of(Rows<RatesSection>);
const Schema& schema_of(Rows<PlanExecutionSection>);
/// The section `training`; the task has the values of other sections already.
const Schema& schema_of(Rows<training::Task>);
/// The section `parallelism`, a degree for every role.
const Schema& schema_of(Rows<training::Choices>);
const Schema& schema_of(Rows<training::StackChanges>);
const Schema& schema_of(Rows<memory::Loss>);
/// The key of a network dimension that states the role that it serves.
extern const Field kRoleOfDimension;

/// Reads all sections and checks the rules between them; `start` is where the config begins.
Config read_mapping_config(const YamlNode& root, const Place& start, SystemUse use,
                           InputMessages& messages);

/// Reads the section `system`; all other sections of a mapping are left unread.
Config read_machine_alone(const YamlNode& root, const Place& start, InputMessages& messages);

/// Refuses values that no plan has with any other decisions.  The sections have been read into
/// the task.
void check_plan_rules(const YamlNode& root, const training::Task& task, InputMessages& messages);

}  // namespace dfsearch
