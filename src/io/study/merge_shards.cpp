#include "io/study/study_outputs.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "io/study/result_row.hpp"
#include "io/text/files.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

study::Figure figure_of(const std::string& name) {
  for (const study::Figure figure : study::kFigures) {
    if (study::name_of(figure) == name) return figure;
  }
  throw InputError("unknown figure " + name);
}

study::Goal goal_of(const Json& json) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  study::Goal goal;
  for (const Json& name : json.at("objective")) goal.figures.push_back(figure_of(name));
  for (const auto& [name, range] : json.at("limits").items()) {
    goal.limits.push_back({figure_of(name),
                           range.at(0).is_null() ? -kInfinity : range.at(0).get<double>(),
                           range.at(1).is_null() ? kInfinity : range.at(1).get<double>()});
  }
  return goal;
}

/// The growth along each dimension, which is stored with its first axis.
std::vector<study::Growth> growth_of(const Json& axes) {
  std::vector<study::Growth> growth;
  for (const Json& axis : axes) {
    if (axis.at("dimension").get<std::size_t>() != growth.size()) continue;
    growth.push_back(value_of<study::Growth>(axis.at("growth")).value_or(study::Growth::None));
  }
  return growth;
}

constexpr std::int64_t kMostParts = 1'000'000;
constexpr double kMostPoints = 1e12;

/// Checks the preconditions of a grid and its parts.
void check(const Study& study, const StudyState& state) {
  std::vector<std::size_t> sizes;
  double points = 1.0;
  for (const StudyAxis& axis : study.axes) {
    if (axis.labels.empty()) throw InputError("axes: expected labels");
    if (axis.dimension == sizes.size()) {
      sizes.push_back(axis.labels.size());
      points *= static_cast<double>(axis.labels.size());
    }
    if (axis.dimension >= sizes.size() || axis.labels.size() != sizes[axis.dimension]) {
      throw InputError("axes: expected dimensions in order, with equally many labels each");
    }
  }
  if (sizes.empty() || points > kMostPoints) throw InputError("axes: expected 1 to 1e12 points");
  const StudySlice& part = state.part;
  if (part.of < 1 || part.of > kMostParts || part.part < 0 || part.part >= part.of) {
    throw InputError("shard: expected a part of at most 1000000");
  }
}

std::uint64_t hexadecimal(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError("fingerprint: expected hexadecimal digits, got " + text);
  }
  return value;
}

}  // namespace

std::pair<Study, StudyState> load_study_json(const std::filesystem::path& file) {
  const Json json = parse_json_object(read_file(file), file.string());
  try {
    Study study;
    study.name = json.at("study").get<std::string>();
    study.goal = goal_of(json);
    study.charts = json.value("charts", Json::array());
    for (const Json& axis : json.at("axes")) {
      study.axes.push_back({.name = axis.at("name").get<std::string>(),
                            .key = axis.at("key").is_null() ? "" : axis.at("key"),
                            .labels = axis.at("labels").get<std::vector<std::string>>(),
                            .changes = {},
                            .dimension = axis.at("dimension").get<std::size_t>()});
    }
    StudyState state;
    state.growth = growth_of(json.at("axes"));
    state.fingerprint = hexadecimal(json.at("fingerprint").get<std::string>());
    state.complete = json.at("complete").get<bool>();
    state.part = {.part = json.at("shard").at("part").get<std::int64_t>() - 1,
                  .of = json.at("shard").at("of").get<std::int64_t>()};
    for (const auto& [key, count] : study::kStudyCounts) {
      // Files of earlier versions do not count points with a scope.
      if (count == &study::StudyCount::scoped && !json.contains(key)) continue;
      state.count.*count = json.at(key).get<std::int64_t>();
    }
    check(study, state);
    return {std::move(study), state};
  } catch (const Json::exception& wrong) {
    throw InputError(file.string() + ": expected the study.json of a run: " + what_is_wrong(wrong));
  } catch (const InputError& wrong) {
    throw InputError(file.string() + ": " + wrong.messages().front());
  }
}

MergedStudy merge_shards(const std::vector<std::filesystem::path>& folders) {
  MergedStudy merged;
  std::set<std::int64_t> parts;
  std::map<study::PointIndex, std::string> rows;
  for (const std::filesystem::path& folder : folders) {
    auto loaded = load_study_json(folder / "study.json");
    Study& study = loaded.first;
    const auto& state = loaded.second;
    const auto refuse = [&](const std::string& what) {
      throw InputError(folder.string() + ": " + what);
    };
    if (!state.complete) refuse("its run is not complete; run it again to its end");
    if (parts.empty()) {
      merged.study = std::move(study);
      merged.state = state;
      merged.state.count = {};
    } else if (state.fingerprint != merged.state.fingerprint) {
      refuse("is of another study than " + folders.front().string());
    } else if (state.part.of != merged.state.part.of) {
      refuse(fmt::format("is one of {} parts, {} one of {}", state.part.of,
                         folders.front().string(), merged.state.part.of));
    }
    if (!parts.insert(state.part.part).second) {
      refuse(fmt::format("part {} is given twice", state.part.part + 1));
    }
    for (const auto& [key, count] : study::kStudyCounts) {
      merged.state.count.*count += state.count.*count;
    }
    const study::Grid grid = grid_of(merged.study);
    const fs::path file = folder / "results.ndjson";
    std::size_t line = 0;
    for_each_row(file, [&](const std::string& row) {
      ++line;
      try {
        const study::PointIndex index = checked_answer_of(row, grid).index;
        const bool is_here =
            state.part.begin(grid.count()) <= index && index < state.part.end(grid.count());
        if (!is_here) throw InputError(fmt::format("index: {} is of another part", index));
        rows.emplace(index, row);
      } catch (const InputError& wrong) {
        throw InputError(fmt::format("{}:{}:1: {}", file.string(), line, wrong.messages().front()));
      }
    });
  }
  for (std::int64_t part = 0; part < merged.state.part.of; ++part) {
    if (parts.contains(part)) continue;
    throw InputError(fmt::format("part {} of {} is missing", part + 1, merged.state.part.of));
  }
  merged.state.part = {};
  for (const auto& [index, row] : rows) {
    merged.rows += row + "\n";
    study::PointAnswer answer = answer_of_row(row);
    answer.row.clear();
    merged.answers.emplace(index, std::move(answer));
  }
  return merged;
}

}  // namespace dfsearch
