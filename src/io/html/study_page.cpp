// Results become columns, lists over all points: the places on each axis, and each figure, with
// numbers as the base64 of their bits.  A page with thousands of points is then several times
// smaller than with an object for each.  Numbers keep all their digits up to kMostExact points, and
// seven of them beyond.

#include "io/html/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/version.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostExact = 4'000;

struct Results {
  std::vector<Json> rows;
  std::size_t total = 0;
};

/// Calls `call` with each line that is not empty; a last line without an end is incomplete and
/// left out.
template <class Call>
void for_each_line(std::string_view text, const Call& call) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return;
    if (end > 0) call(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

/// The number of the point of a row; in rows that a study writes it comes first.
std::int64_t index_of(std::string_view row, const std::string& name) {
  constexpr std::string_view kHead = R"({"index": )";
  std::int64_t index = 0;
  const char* const end = row.data() + row.size();
  if (row.starts_with(kHead) &&
      std::from_chars(row.data() + kHead.size(), end, index).ec == std::errc()) {
    return index;
  }
  return parse_json_object(std::string(row), name).at("index").get<std::int64_t>();
}

/// Reads all results, or, if they are more than `most`, the points of the front and an even sample
/// of the others.
Results read_results(const std::string& text, const Json& front, std::size_t most) {
  Results results;
  for_each_line(text, [&](std::string_view) { ++results.total; });
  const bool is_thinned = results.total > most;
  std::set<std::int64_t> kept;
  for (const Json& point : front.at("points")) kept.insert(point.at("index").get<std::int64_t>());
  const std::size_t room = most > kept.size() ? most - kept.size() : 1;
  std::size_t line = 0, others = 0, taken = 0;
  for_each_line(text, [&](std::string_view row_text) {
    const std::string name = fmt::format("results.ndjson:{}", ++line);
    if (is_thinned && kept.count(index_of(row_text, name)) == 0) {
      // Takes `room` of at most `total` other points, evenly.
      if (++others * room / results.total <= taken) return;
      ++taken;
    }
    results.rows.push_back(parse_json_object(std::string(row_text), name));
  });
  return results;
}

bool is_figure(const std::string& key, const Json& value) {
  return key != "index" && key != "status" && key != "reason" && key != "fingerprint" &&
         (value.is_number() || value.is_null());
}

/// Names of figures: first the figures of the study, then every other number in some result.
/// Numbers in objects (time_shares, search) have names such as `time_shares.compute`.
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

/// Possible places of a figure in a result: the result itself, one of its objects, or, for serving,
/// `serving` or its `figures`.
std::vector<Json::json_pointer> places_of_figure(const std::string& name) {
  const Json::json_pointer serving("/serving");
  std::vector<Json::json_pointer> places = {Json::json_pointer() / name, serving / name,
                                            serving / "figures" / name};
  if (const std::size_t dot = name.find('.'); dot != name.npos) {
    places.push_back(Json::json_pointer() / name.substr(0, dot) / name.substr(dot + 1));
  }
  return places;
}

/// One number, or null, for each result.
Json figures_of(const std::vector<Json>& rows, const std::string& name) {
  const std::vector<Json::json_pointer> places = places_of_figure(name);
  return json_list(rows, [&](const Json& row) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const auto& at) {
      return row.contains(at) && row.at(at).is_number();
    });
    return place == places.end() ? Json() : row.at(*place);
  });
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 3; ++k) {
      group = group << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

/// Packs numbers in the form that the page unpacks (study.js); null becomes NaN.
template <class Float, class Bits>
std::string packed(const Json& values) {
  std::string bytes;
  for (const Json& value : values) {
    const auto bits = std::bit_cast<Bits>(value.is_null() ? std::numeric_limits<Float>::quiet_NaN()
                                                          : value.get<Float>());
    for (std::size_t k = 0; k < sizeof(bits); ++k) bytes += static_cast<char>(bits >> 8 * k & 255);
  }
  return base64(bytes);
}

/// A text, or null, of each result; there are few different texts.
Json texts_of(const std::vector<Json>& rows, const char* key) {
  Json texts = Json::array(), places = Json::array();
  std::unordered_map<std::string, std::size_t> place_of;
  for (const Json& row : rows) {
    const Json text = row.value(key, Json());
    const auto [found, is_new] = place_of.emplace(text.dump(), texts.size());
    if (is_new) texts.push_back(text);
    places.push_back(found->second);
  }
  return {{"texts", std::move(texts)}, {"places", std::move(places)}};
}

bool contains(const Json& list, const std::string& text) {
  return std::find(list.begin(), list.end(), Json(text)) != list.end();
}

/// The place of each point on an axis; -1 for a label that the axis does not have.
Json places_on(const Json& axis, const std::vector<Json>& rows) {
  const std::string name = axis.at("name").get<std::string>();
  std::unordered_map<std::string, std::int64_t> place_of;
  for (const Json& label : axis.at("labels")) {
    place_of.emplace(label.get<std::string>(), static_cast<std::int64_t>(place_of.size()));
  }
  return json_list(rows, [&](const Json& row) {
    const auto found = place_of.find(row.at("point").value(name, std::string()));
    return found == place_of.end() ? -1 : found->second;
  });
}

Json columns_json(const Json& study, const Json& front, const std::vector<Json>& rows) {
  const auto index_of = [](const Json& row) { return row.at("index"); };
  Json columns = {{"index", json_list(rows, index_of)},
                  {"status", texts_of(rows, "status")},
                  {"reason", texts_of(rows, "reason")},
                  {"rates", texts_of(rows, "rates")},
                  {"places", json_list(study.at("axes"),
                                       [&](const Json& axis) { return places_on(axis, rows); })},
                  {"figures", Json::object()}};
  for (const std::string& name : figure_names(study, rows)) {
    const Json values = figures_of(rows, name);
    const bool is_nothing = std::all_of(values.begin(), values.end(), [](const Json& value) {
      return value.is_null() || value == 0;
    });
    const bool is_asked = contains(front.at("objective"), name) ||
                          study.value("limits", Json::object()).contains(name);
    if (is_nothing && !is_asked) continue;
    std::string text = rows.size() > kMostExact ? packed<float, std::uint32_t>(values)
                                                : packed<double, std::uint64_t>(values);
    // Omits a column that equals an earlier one, such as a bound that is attained.
    const bool is_known =
        !is_asked && !study.at("figures").contains(name) && contains(columns["figures"], text);
    if (!is_known) columns["figures"][name] = std::move(text);
  }
  return columns;
}

Json front_json_of(const Json& front) {
  return {{"exact", front.value("exact", Json(false))},
          {"objective", front.at("objective")},
          {"index",
           json_list(front.at("points"), [](const Json& point) { return point.at("index"); })}};
}

}  // namespace

std::string study_page(const Json& study, const std::string& results_ndjson, const Json& front,
                       std::size_t most) {
  try {
    const Results results = read_results(results_ndjson, front, most);
    Json columns = columns_json(study, front, results.rows);
    return html_page(page_assets::study(), {{"dfsearch", kVersion},
                                            {"total", results.total},
                                            {"front", front_json_of(front)},
                                            {"columns", std::move(columns)},
                                            {"study", study}});
  } catch (const Json::exception& error) {
    throw InputError(std::string("study.json, results.ndjson, front.json: are no study: ") +
                     what_is_wrong(error));
  }
}

std::string study_page(const std::string& study_json, const std::string& results_ndjson,
                       const std::string& front_json) {
  return study_page(parse_json_object(study_json, "study.json"), results_ndjson,
                    parse_json_object(front_json, "front.json"));
}

}  // namespace dfsearch
