#pragma once
// The sections `execution`, `sharding`, `equations` and `search` of a config.  Each reader
// checks its own section; load_config.cpp checks what involves several.

#include <optional>
#include <vector>

#include "io/config/config_graph.hpp"
#include "io/config/load_config.hpp"
#include "io/text/map_reader.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Everything but the pins, which need the graph.
Execution read_execution(const YamlEntry& section, InputMessages& messages);
/// `launch_overhead` of the same section, which a GEMM alone on a chip has.
Seconds read_launch_overhead(const YamlEntry& section, InputMessages& messages);
/// `execution: {pins: ...}`; reports kernels that `graph` does not have.
std::vector<PartitionPin> read_partition_pins(const YamlEntry& section, const DataflowGraph& graph,
                                              InputMessages& messages);
/// `sharding: {pins: ...}`; without a graph only the form is checked.
std::vector<std::optional<Loop>> read_sharding(const YamlEntry& section, const DataflowGraph* graph,
                                               InputMessages& messages);
/// The switches of the technology go to `technology`.  A preset also says how loops are chosen where
/// `search` does not: it is read later.  Null: the preset `physical`.
void read_equations(const YamlEntry* section, Problem& problem, TechnologyEquations& technology,
                    InputMessages& messages);
/// What the section says of the problem itself goes to `problem`.
SearchSettings read_search(const YamlEntry& section, Problem& problem, InputMessages& messages);

/// The section `search` of a model that has one objective and no sharding to choose.
SearchSettings read_settings(const YamlEntry& section, InputMessages& messages);

}  // namespace dfsearch
