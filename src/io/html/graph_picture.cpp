// The graph of a result as text for Graphviz.  Made of the result and not of a workload, so that
// the page of a run and a page that is made later show the same.

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/html/pages.hpp"
#include "io/text/quoted_text.hpp"

namespace dfsearch {
namespace {

using Nodes = std::unordered_map<std::string, std::size_t>;

std::string node(const Json& kernel, std::size_t index) {
  const bool backward = kernel.at("phase") == "backward";
  const std::string label =
      dot_label({kernel.at("name").get<std::string>(), kernel.at("kind").get<std::string>()});
  return fmt::format("    k{} [label={}{}];\n", index, label,
                     backward ? ", fillcolor=\"#e4e7ec\"" : "");
}

std::string cluster(const Json& partition, const Json& kernels, const Nodes& nodes) {
  const auto index = partition.at("index").get<std::int64_t>();
  std::string label = fmt::format("partition {}", index);
  if (partition.at("time").is_number()) {
    label += fmt::format(": {}, {}", to_text(Seconds(partition.at("time").get<double>())),
                         partition.at("bound_by").get<std::string>());
  }
  std::string out =
      fmt::format("  subgraph cluster_{} {{\n    label={};\n", index, dot_label({label}));
  for (const Json& name : partition.at("kernels")) {
    const std::size_t k = nodes.at(name.get<std::string>());
    out += node(kernels.at(k), k);
  }
  return out + "  }\n";
}

std::string picture(const Json& result) {
  const Json& graph = result.at("graph");
  const Json& kernels = graph.at("kernels");
  Nodes nodes;
  for (const Json& kernel : kernels) {
    nodes.emplace(kernel.at("name").get<std::string>(), nodes.size());
  }
  std::string out =
      "digraph layer {\n"
      "  bgcolor=transparent; fontname=Helvetica; nodesep=0.2; ranksep=0.35; style=rounded;\n"
      "  color=\"#9aa3b2\"; fontsize=13;\n"
      "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=Helvetica,"
      " fontsize=11, height=0.3];\n"
      "  edge [fontname=Helvetica, fontsize=9, color=\"#66707f\", arrowsize=0.7];\n";
  if (result.at("partitions").is_array()) {
    for (const Json& partition : result.at("partitions")) out += cluster(partition, kernels, nodes);
  } else {
    for (std::size_t k = 0; k < kernels.size(); ++k) out += node(kernels.at(k), k);
  }
  for (const Json& tensor : graph.at("tensors")) {
    out += fmt::format("  k{} -> k{} [label=\" {}\"];\n",
                       nodes.at(tensor.at("from").get<std::string>()),
                       nodes.at(tensor.at("to").get<std::string>()),
                       to_text(Bytes(tensor.at("bytes").get<double>())));
  }
  return out + "}\n";
}

}  // namespace

std::string graph_picture(const Json& result, const std::string& name) {
  if (!result.contains("graph")) return "";
  try {
    return picture(result);
  } catch (const std::exception&) {  // keys and names that a result of ours has
    throw InputError(name + ": is no result: its graph and its partitions do not fit each other");
  }
}

}  // namespace dfsearch
