// Results become columns: the places of a point on the axes and its figures, each a list over all
// points.  A page with thousands of points is then a few times smaller than their objects, and the
// numbers keep all their digits.

#include "io/html/study_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/html/html_page.hpp"
#include "io/html/page_assets.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostRows = 20'000;

struct Results {
  std::vector<Json> rows;
  std::size_t total = 0;
};

/// Calls with each line that is not empty; one without its end is torn.
template <class Call>
void for_each_line(std::string_view text, const Call& call) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    if (end > 0) call(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

/// Of results in great number the points of the front, and of the others so many that all fit,
/// evenly; what is left out is dropped at once.
Results read_results(const std::string& text, const Json& front) {
  Results results;
  for_each_line(text, [&](std::string_view) { ++results.total; });
  const bool is_thinned = results.total > kMostRows;
  std::set<std::int64_t> kept;
  for (const Json& point : front.at("points")) kept.insert(point.at("index").get<std::int64_t>());
  const std::size_t room = kMostRows > kept.size() ? kMostRows - kept.size() : 1;
  std::size_t line = 0, others = 0, taken = 0;
  for_each_line(text, [&](std::string_view row_text) {
    Json row = parse_json_object(std::string(row_text), fmt::format("results.ndjson:{}", ++line));
    const bool on_front = is_thinned && kept.count(row.at("index").get<std::int64_t>()) > 0;
    if (is_thinned && !on_front) {
      // The others are `total` at most, and `room` of these are taken.
      if (++others * room / results.total <= taken) return;
      ++taken;
    }
    results.rows.push_back(std::move(row));
  });
  return results;
}

bool is_figure(const std::string& key, const Json& value) {
  return key != "index" && key != "status" && key != "reason" && key != "fingerprint" &&
         (value.is_number() || value.is_null());
}

/// Names of figures: those of the study first, then what else is a number in some result.
/// What is in objects (time_shares, search) counts as `time_shares.compute`.
std::vector<std::string> figure_names(const Json& study, const std::vector<Json>& rows) {
  std::vector<std::string> names;
  std::set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  for (const auto& figure : study.at("figures").items()) add(figure.key());
  for (const Json& row : rows) {
    for (const auto& item : row.items()) {
      if (is_figure(item.key(), item.value())) add(item.key());
      if (!item.value().is_object() || item.key() == "point") continue;
      for (const auto& part : item.value().items()) {
        if (part.value().is_number()) add(item.key() + "." + part.key());
      }
    }
  }
  return names;
}

Json figure_of(const Json& row, const std::string& name) {
  if (const auto whole = row.find(name); whole != row.end()) {
    return whole->is_number() ? *whole : Json();
  }
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return {};
  const auto object = row.find(name.substr(0, dot));
  if (object == row.end() || !object->is_object()) return {};
  const auto part = object->find(name.substr(dot + 1));
  return part != object->end() && part->is_number() ? *part : Json();
}

/// The place of each point on an axis; -1 for a label that the axis does not have.
Json places_on(const Json& axis, const std::vector<Json>& rows) {
  const std::string name = axis.at("name").get<std::string>();
  std::unordered_map<std::string, std::int64_t> place_of;
  for (const Json& label : axis.at("labels")) {
    place_of.emplace(label.get<std::string>(), static_cast<std::int64_t>(place_of.size()));
  }
  Json places = Json::array();
  for (const Json& row : rows) {
    const auto found = place_of.find(row.at("point").value(name, std::string()));
    places.push_back(found == place_of.end() ? -1 : found->second);
  }
  return places;
}

Json columns_json(const Json& study, const std::vector<Json>& rows) {
  Json columns = {{"index", Json::array()}, {"status", Json::array()}, {"reason", Json::array()}};
  for (const Json& row : rows) {
    columns["index"].push_back(row.at("index"));
    columns["status"].push_back(row.at("status"));
    columns["reason"].push_back(row.value("reason", Json()));
  }
  columns["places"] = Json::array();
  for (const Json& axis : study.at("axes")) columns["places"].push_back(places_on(axis, rows));
  columns["figures"] = Json::object();
  for (const std::string& name : figure_names(study, rows)) {
    Json values = Json::array();
    for (const Json& row : rows) values.push_back(figure_of(row, name));
    columns["figures"][name] = std::move(values);
  }
  return columns;
}

Json front_json_of(const Json& front) {
  Json indices = Json::array();
  for (const Json& point : front.at("points")) indices.push_back(point.at("index"));
  return {{"exact", front.value("exact", Json(false))},
          {"objective", front.at("objective")},
          {"index", std::move(indices)}};
}

}  // namespace

std::string study_page(const std::string& study_json, const std::string& results_ndjson,
                       const std::string& front_json) {
  Json study = parse_json_object(study_json, "study.json");
  const Json front = parse_json_object(front_json, "front.json");
  try {
    const Results results = read_results(results_ndjson, front);
    Json columns = columns_json(study, results.rows);
    return html_page(page_assets::study(), {{"dfsearch", kVersion},
                                            {"total", results.total},
                                            {"front", front_json_of(front)},
                                            {"columns", std::move(columns)},
                                            {"study", std::move(study)}});
  } catch (const Json::exception& error) {
    throw InputError(std::string("study.json, results.ndjson, front.json: are no study: ") +
                     what_is_wrong(error));
  }
}

}  // namespace dfsearch
