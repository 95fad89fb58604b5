#pragma once
// The sections `execution`, `sharding`, `equations` and `search` of a config.  Each reader
// checks its own section; config_mapping.cpp checks the rules between sections.

#include <vector>

#include "io/config/load_config.hpp"
#include "io/config/workload_text.hpp"
#include "io/text/map_reader.hpp"
#include "model/problem.hpp"
#include "schema/schema.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

struct ExecutionSection {
  Execution execution;        ///< without the pins, which need the graph
  Seconds launch_overhead{};  ///< of a GEMM alone on a chip
};
struct ShardingSection {
  int axes = 1;  ///< Problem::tensor_axes
};

enum class Preset : std::uint8_t { Physical, Published, Calculon };
constexpr auto words(Preset) {
  return named<Preset>({{"physical", Preset::Physical},
                        {"published", Preset::Published},
                        // Only for messages: this preset is recognised earlier.
                        {"calculon", Preset::Calculon}});
}
struct EquationsSection {
  Equations equations;
  TechnologyEquations technology;
  ShardingChoice sharding = ShardingChoice::Joint;
};
struct SearchSection {
  ShardingChoice sharding = ShardingChoice::Joint;
  Objective objective = Objective::StepTime;
  SearchSettings settings = {};
};

const Schema& schema_of(Rows<ExecutionSection>);
const Schema& schema_of(Rows<ShardingSection>);
const Schema& schema_of(Rows<EquationsSection>);
const Schema& schema_of(Rows<SearchSettings>);
const Schema& schema_of(Rows<SearchSection>);

ExecutionSection read_execution(const YamlEntry& section, InputMessages& messages);
/// `execution: {pins: ...}`; reports kernels that `graph` does not have.
std::vector<PartitionPin> read_partition_pins(const YamlEntry& section, const DataflowGraph& graph,
                                              InputMessages& messages);
/// Reads the section into `problem`, after its `search`; without a graph only the form of the pins
/// is checked.
void read_sharding(const YamlEntry& section, const DataflowGraph* graph, Problem& problem,
                   InputMessages& messages);
/// Reads the section into `problem`, and its switches for technologies into `technology`.  A preset
/// also sets the choice of sharding, which the section `search`, read later, may override.  Null
/// stands for the preset `physical`.
void read_equations(const YamlEntry* section, Problem& problem, TechnologyEquations& technology,
                    InputMessages& messages);
/// Stores keys of the section that describe the problem itself in `problem`.
SearchSettings read_search(const YamlEntry& section, Problem& problem, InputMessages& messages);

}  // namespace dfsearch
