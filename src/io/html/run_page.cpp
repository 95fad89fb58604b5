#include "io/html/pages.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/html/html_page.hpp"

namespace dfsearch {
namespace {

/// Null for empty text.
Json text_json(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Lists of time, nodes, incumbent and lower bound.
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

std::string run_page(const RunPage& parts) {
  Json data = {{"dfsearch", kVersion},
               {"title", text_json(parts.title)},
               {"command", text_json(parts.command)},
               {"config", text_json(parts.config)},
               {"whole", text_json(parts.whole)},
               {"graph", text_json(parts.graph)},
               {"graph_missing", text_json(parts.graph_missing)},
               {"history", history_json(parts.history)},
               {"result", parts.result}};
  if (!parts.facts.empty()) data["facts"] = parts.facts;
  return html_page(page_assets::run(), data);
}

}  // namespace dfsearch
