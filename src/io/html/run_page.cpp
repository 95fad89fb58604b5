#include "io/html/run_page.hpp"

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/html/html_page.hpp"
#include "io/html/page_assets.hpp"

namespace dfsearch {
namespace {

/// Null for empty text.
Json text_json(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// Lists of time, nodes, incumbent and lower bound.
Json history_json(const std::vector<SearchPoint>& history) {
  Json list = Json::array();
  for (const SearchPoint& point : history) {
    list.push_back(Json::array({json_number(point.time), point.nodes,
                                point.incumbent ? json_number(*point.incumbent) : Json(),
                                json_number(point.lower_bound)}));
  }
  return list;
}

}  // namespace

std::string run_page(const RunPage& parts) {
  Json result = parse_json_object(parts.result, parts.name);
  for (const char* key : {"dfsearch", "status", "workload", "search"}) {
    if (!result.contains(key)) {
      throw InputError(parts.name + ": is no result of dfsearch " + kVersion + ": it has no key '" +
                       key + "'");
    }
  }
  return html_page(page_assets::run(), {{"dfsearch", kVersion},
                                        {"title", text_json(parts.title)},
                                        {"command", text_json(parts.command)},
                                        {"config", text_json(parts.config)},
                                        {"whole", text_json(parts.whole)},
                                        {"graph", text_json(parts.graph)},
                                        {"graph_missing", text_json(parts.graph_missing)},
                                        {"history", history_json(parts.history)},
                                        {"result", std::move(result)}});
}

}  // namespace dfsearch
