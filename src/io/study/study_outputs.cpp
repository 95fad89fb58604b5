#include "io/study/study_outputs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "base/version.hpp"
#include "io/study/result_row.hpp"
#include "io/text/json_text.hpp"
#include "io/text/quoted_text.hpp"

namespace dfsearch {
namespace {

/// The values of the labels in SI base units, if all labels are quantities.
template <class Q>
std::optional<std::vector<double>> quantities(const std::vector<std::string>& labels) {
  std::vector<double> values;
  try {
    for (const std::string& label : labels) {
      if constexpr (std::is_same_v<Q, double>) {
        values.push_back(parse_number(label));
      } else {
        values.push_back(parse_quantity<Q>(label).in_base_units());
      }
    }
  } catch (const InputError&) {
    return std::nullopt;
  }
  return values;
}

struct AxisValues {
  std::vector<double> values;  ///< empty if labels are no numbers
  const char* unit = "";
};

AxisValues values_of(const StudyAxis& axis) {
  if (axis.key.empty()) return {};
  if (auto values = quantities<double>(axis.labels)) return {*values, ""};
  if (auto values = quantities<Bytes>(axis.labels)) return {*values, "B"};
  if (auto values = quantities<BytesPerSecond>(axis.labels)) return {*values, "B/s"};
  if (auto values = quantities<Hertz>(axis.labels)) return {*values, "Hz"};
  if (auto values = quantities<Seconds>(axis.labels)) return {*values, "s"};
  return {};
}

Json values_json(const StudyAxis& axis) {
  const AxisValues known = values_of(axis);
  return known.values.empty() ? Json() : json_list(known.values, json_number);
}

Json names_json(const std::vector<study::Figure>& figures) {
  return json_list(figures, [](study::Figure figure) { return study::name_of(figure); });
}

Json axes_json(const Study& study, const StudyState& state) {
  return json_list(study.axes, [&](const StudyAxis& axis) -> Json {
    return {{"name", axis.name},           {"key", axis.key.empty() ? Json() : Json(axis.key)},
            {"dimension", axis.dimension}, {"growth", name_of(state.growth[axis.dimension])},
            {"labels", axis.labels},       {"values", values_json(axis)}};
  });
}

Json limits_json(const study::Goal& goal) {
  Json limits = Json::object();
  for (const study::FigureLimit& limit : goal.limits) {
    limits[std::string(study::name_of(limit.figure))] = {json_number(limit.least),
                                                         json_number(limit.most)};
  }
  return limits;
}

std::string csv_number(double value) {
  return std::isnan(value) ? "" : json_line(json_number(value));
}

/// Keys of the decisions, time and memory in the row of a point.
constexpr std::array kDecided = {"/rates",    "/parallelism", "/micro_batch",  "/tile",
                                 "/plan",     "/execution",   "/serving/best", "/gap",
                                 "/bound_by", "/time_shares", "/time",         "/memory"};

std::string unit_of_part(const std::string& key) {
  return key == "time" ? " [s]" : key == "memory" ? " [B]" : "";
}

/// Calls `call` with the name and the field of each part of a value; lists are one part.
void for_each_part(const std::string& name, const std::string& unit, const Json& value,
                   const std::function<void(std::string, std::string)>& call) {
  if (value.is_object()) {
    for (const auto& part : value.items()) {
      for_each_part(name + "." + part.key(), unit, part.value(), call);
    }
  } else if (value.is_number()) {
    call(name + unit, json_line(value));
  } else if (!value.is_null()) {
    call(name, csv_cell(value.is_string() ? value.get<std::string>() : value.dump()));
  }
}

/// Fields by the place in kDecided and the name of the column.
using Decided = std::map<std::pair<std::size_t, std::string>, std::string>;

Decided decided_of(const Json& row) {
  Decided parts;
  for (std::size_t k = 0; k < kDecided.size(); ++k) {
    const Json::json_pointer at(kDecided[k]);
    if (!row.contains(at)) continue;
    const std::string name = at.back() == "best" ? "deployment" : at.back();
    for_each_part(name, unit_of_part(name), row.at(at), [&](std::string head, std::string field) {
      parts.insert_or_assign({k, std::move(head)}, std::move(field));
    });
  }
  return parts;
}

Json ratios_json(const std::vector<RatioResult>& ratios) {
  return json_list(ratios, [](const RatioResult& ratio) {
    Json object = {{"name", ratio.name}, {"of", ratio.of}, {"over", ratio.over}};
    for (const auto& [figure, value] : ratio.values) {
      object[std::string(study::name_of(figure))] = json_number(value);
    }
    Json printed = Json::object();
    for (const auto& [figure, digits] : ratio.printed) {
      printed[std::string(study::name_of(figure))] = {{"digits", digits},
                                                      {"agrees", *ratio.agrees(figure)}};
    }
    object["printed"] = std::move(printed);
    return object;
  });
}

}  // namespace

bool StudyState::is_proved() const { return complete && count.unproved == 0 && count.failed == 0; }

bool StudyState::is_exact() const { return is_proved() && count.approximate == 0; }

Json study_json(const Study& study, const StudyState& state) {
  Json figures = Json::object();
  for (const study::Figure figure : study::kFigures) {
    figures[std::string(study::name_of(figure))] = {
        {"unit", study::unit_of(figure)},
        {"better", study::more_is_better(figure) ? "more" : "less"}};
  }
  Json bases = json_list(study.bases, [](const StudyBase& base) { return base.name; });
  Json json = {{"dfsearch", kVersion},
               {"study", study.name},
               {"fingerprint", fmt::format("{:016x}", state.fingerprint)},
               {"objective", names_json(study.goal.figures)},
               {"limits", limits_json(study.goal)},
               {"figures", figures},
               {"bases", bases},
               {"axes", axes_json(study, state)},
               {"shard", {{"part", state.part.part + 1}, {"of", state.part.of}}}};
  for (const auto& [key, count] : study::kStudyCounts) json[key] = state.count.*count;
  json["complete"] = state.complete;
  json["ratios"] = ratios_json(state.ratios);
  json["charts"] = study.charts;
  return json;
}

std::vector<study::Front::Member> front_of(const Study& study, const study::Grid& grid,
                                           const StudyState& state,
                                           const study::PointAnswers& answers) {
  if (study.goal.figures.empty()) return {};
  study::Front front(study.goal);
  for (const auto& [index, answer] : answers) {
    front.add(index, grid.rank(grid.choices(index), state.growth), answer.figures);
  }
  return front.members();
}

namespace {

Json front_json(const Study& study, const study::Grid& grid, const StudyState& state,
                const std::vector<study::Front::Member>& members) {
  Json points = Json::array();
  for (const study::Front::Member& member : members) {
    Json labels = Json::object();
    for (const auto& [axis, label] : grid.labels(member.index)) labels[axis] = label;
    Json point = {{"index", member.index}, {"point", std::move(labels)}};
    for (const study::Figure figure : study::kFigures) {
      if (!member.figures.has(figure)) continue;
      point[std::string(study::name_of(figure))] = json_number(member.figures[figure]);
    }
    points.push_back(std::move(point));
  }
  return {{"study", study.name},
          {"objective", names_json(study.goal.figures)},
          {"limits", limits_json(study.goal)},
          {"exact", state.is_exact()},
          {"points", points}};
}

}  // namespace

void for_each_row(const std::filesystem::path& ndjson,
                  const std::function<void(const std::string&)>& call) {
  std::ifstream file(ndjson);
  if (!file) throw InputError(ndjson.string() + ": cannot be read");
  std::string line;
  while (std::getline(file, line)) {
    if (!file.eof()) call(line);  // a line without an end is incomplete
  }
}

ResultsTable::ResultsTable(const std::vector<StudyAxis>& axes)
    : values_(axes.size()), head_("index") {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    names_.push_back(axes[a].name);
    head_ += "," + csv_cell(axes[a].name);
    const AxisValues known = values_of(axes[a]);
    if (std::string_view(known.unit).empty()) continue;
    head_ += "," + csv_cell(fmt::format("{} [{}]", axes[a].name, known.unit));
    for (std::size_t i = 0; i < known.values.size(); ++i) {
      values_[a].emplace(axes[a].labels[i], known.values[i]);
    }
  }
  head_ += ",status,reason,lower_bound [s]";
  for (const study::Figure figure : study::kFigures) {
    head_ += fmt::format(",{}", study::name_of(figure));
    if (!study::unit_of(figure).empty()) head_ += fmt::format(" [{}]", study::unit_of(figure));
  }
}

void ResultsTable::add(const std::string& row) {
  const Json json = Json::parse(row);
  const study::PointAnswer answer = answer_of(json, row);
  Line all;
  std::string& line = all.before;
  line = std::to_string(answer.index);
  for (std::size_t a = 0; a < names_.size(); ++a) {
    const std::string label = json.at("point").value(names_[a], std::string());
    line += "," + csv_cell(label);
    if (values_[a].empty()) continue;
    const auto value = values_[a].find(label);
    line += "," + (value == values_[a].end() ? std::string() : csv_number(value->second));
  }
  line += fmt::format(",{},{},{}", study::name_of(answer.status), csv_cell(answer.reason),
                      csv_number(answer.step_bound));
  for (const study::Figure figure : study::kFigures) {
    line += "," + csv_number(answer.figures[figure]);
  }
  for (const auto& [column, field] : decided_of(json)) {
    all.columns.push_back(columns_.try_emplace(column, columns_.size()).first->second);
    all.fields += field + '\0';
  }
  const auto cautions = json.value("cautions", std::vector<std::string>());
  all.cautions = csv_cell(fmt::format("{}", fmt::join(cautions, " ")));
  lines_.emplace(answer.index, std::move(all));
}

std::string ResultsTable::text() const {
  std::string text = head_;
  for (const auto& [column, number] : columns_) text += "," + csv_cell(column.second);
  text += ",cautions\n";
  for (const auto& [index, line] : lines_) {
    std::vector<std::string_view> fields(columns_.size());
    std::string_view left = line.fields;
    for (const std::size_t number : line.columns) {
      fields[number] = left.substr(0, left.find('\0'));
      left.remove_prefix(fields[number].size() + 1);
    }
    text += line.before;
    for (const auto& [column, number] : columns_) text.append(",").append(fields[number]);
    text += "," + line.cautions + "\n";
  }
  return text;
}

StudyResults results_of(const Study& study, const study::Grid& grid, StudyState& state,
                        const study::PointAnswers& answers) {
  const std::vector<study::Front::Member> front = front_of(study, grid, state, answers);
  state.ratios = ratios_of(study, grid, answers);
  return {.study = study_json(study, state),
          .front = front_json(study, grid, state, front),
          .report = study_report(study, grid, state, front, answers)};
}

std::unique_ptr<study::PointSource> source_of(const Study& study, const study::Grid& grid,
                                              const study::PointKnowledge& knowledge,
                                              const StudySlice& part, const Deadline& deadline) {
  const study::PointIndex begin = part.begin(grid.count()), end = part.end(grid.count());
  if (study.solves_all) {
    return std::make_unique<study::AllPoints>(grid, begin, end, knowledge.known);
  }
  return std::make_unique<study::FrontSearch>(grid, study.goal, knowledge, begin, end, deadline);
}

}  // namespace dfsearch
