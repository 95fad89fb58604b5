#pragma once
// The keys of a transformer in the section `workload`.

#include "graph/workload.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// Reads all keys of the LLM kinds into `workload`, whose kind and word are there already.
/// With any key of docs/transformers.md the layer is made by its rules, without it is the one
/// of the published runs (docs/model.md, section 9).
void read_llm(MapReader& reader, Workload& workload);

}  // namespace dfsearch
