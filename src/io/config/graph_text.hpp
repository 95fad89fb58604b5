#pragma once
// Workloads as text: configs of `kind: graph`, and pictures.

#include <string>

#include "graph/workload.hpp"
#include "io/text/json_text.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// A complete `workload:` section of `kind: graph` for any
/// workload.  All numbers are exact: it reads back to the same graph, sizes and
/// counts, and so to the same result.  Ends in a newline.
std::string workload_yaml(const Workload& workload);

/// This section with the switch that permits a graph whose shapes disagree.
std::string graph_yaml(const Workload& workload);
std::string graph_json(const Workload& workload);

/// A section of a config with these keys.
std::string section_yaml(const char* name, const Json& section);

/// A name as YAML, in quotes if it needs them.
std::string yaml_word(const std::string& word);

/// The graph for Graphviz: kernels with their extents, tensors with the bytes of one sample, and a
/// cluster for each partition unless `mapping` is null.
std::string graph_dot(const Workload& workload, const Mapping* mapping);

}  // namespace dfsearch
