#include "io/html/pages.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "base/version.hpp"
#include "io/text/quoted_text.hpp"

namespace dfsearch {
namespace {

/// Null for empty text.
Json text_json(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json history_json(const std::vector<SearchPoint>& history) {
  return json_list(history, [](const SearchPoint& point) {
    return Json::array({json_number(point.time), point.nodes, or_null(point.incumbent),
                        json_number(point.lower_bound)});
  });
}

}  // namespace

Json facts_json(const Sheet& sheet) {
  Json list = Json::array();
  for (const Sheet::Block& block : sheet.blocks()) {
    const auto* facts = std::get_if<Facts>(&block);
    if (facts == nullptr) continue;
    list.push_back(json_list(facts->rows, [](const auto& row) -> Json {
      return Json::array({row.first, row.second});
    }));
  }
  return list;
}

Json read_result(const std::string& text, const std::string& name) {
  Json result = parse_json_object(text, name);
  for (const char* key : {"dfsearch", "status", "workload", "search"}) {
    if (!result.contains(key)) {
      throw InputError(name + ": is no result of dfsearch " + kVersion + ": it has no key '" + key +
                       "'");
    }
  }
  return result;
}

std::string comparison_page(const std::vector<std::pair<std::string, std::string>>& results) {
  Json list = json_list(results, [](const auto& result) -> Json {
    const auto& [name, text] = result;
    return {{"name", std::filesystem::path(name).stem().string()},
            {"result", read_result(text, name)}};
  });
  return html_page(page_assets::comparison(), {{"dfsearch", kVersion}, {"results", list}});
}

std::string run_page(RunPage parts) {
  Json data = {{"dfsearch", kVersion},
               {"title", text_json(parts.title)},
               {"command", text_json(parts.command)},
               {"config", text_json(parts.config)},
               {"whole", text_json(parts.whole)},
               {"graph", text_json(parts.graph)},
               {"graph_missing", text_json(parts.graph_missing)},
               {"history", history_json(parts.history)}};
  append(data, "result", std::move(parts.result));
  if (!parts.facts.empty()) append(data, "facts", std::move(parts.facts));
  return html_page(page_assets::run(), data);
}

// The graph of a result as text for Graphviz.  It is made from the result instead of the workload,
// so that the page of a run and a page that is made later are equal.

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
  } catch (const std::exception&) {  // a result of dfsearch has all keys and names
    throw InputError(name + ": is no result: its graph and its partitions do not fit each other");
  }
}

namespace {

/// The value of a JSON escape that is longer than two letters.
char32_t code_of(std::string_view escape) {
  return static_cast<char32_t>(std::stoul(std::string(escape.substr(2, 4)), nullptr, 16));
}

/// JSON text that is safe in a script element: without '<' it contains neither "</script" nor
/// "<!--".  In JSON '<' occurs only in strings, where an escape means the same.  Control characters
/// other than ends of lines and tabs are shown as on terminals, `\x1b`.
std::string embedded(const Json& data) {
  const std::string text = json_line(data);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest[0] == '<') {
      out += "\\u003c";
    } else if (rest[0] != '\\') {
      out += rest[0];
    } else if (rest[1] == 'u' && code_of(rest) < 0xA0) {
      out += fmt::format("\\\\x{:02x}", static_cast<unsigned>(code_of(rest)));
      i += 5;
    } else {
      constexpr std::string_view kLetters = "bfr";
      constexpr std::array kCodes = {0x08, 0x0c, 0x0d};
      const std::size_t letter = kLetters.find(rest[1]);
      out += letter == kLetters.npos ? std::string(rest.substr(0, 2))
                                     : fmt::format("\\\\x{:02x}", kCodes[letter]);
      ++i;
    }
  }
  return out;
}

}  // namespace

std::string html_page(std::string_view scripts, const Json& data) {
  std::string page;
  std::string_view frame = page_assets::frame();
  const auto fill = [&](std::string_view mark, std::string_view text) {
    const std::size_t at = frame.find(mark);
    if (at == frame.npos) throw InternalError("page.html has lost a mark");
    page += frame.substr(0, at);
    page += text;
    frame.remove_prefix(at + mark.size());
  };
  fill("@css@", page_assets::style());
  fill("@data@", embedded(data));
  fill("@library@", page_assets::library());
  fill("@common@", page_assets::common());
  fill("@scripts@", scripts);
  page += frame;
  return page;
}

}  // namespace dfsearch
