#pragma once
// A study as read from its file (docs/studies.md).

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/config/load_config.hpp"
#include "io/config/overrides.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/json_text.hpp"
#include "study/front_search.hpp"
#include "study/grid.hpp"

namespace dfsearch {

/// A config that points change.
struct StudyBase {
  std::string name;
  std::filesystem::path file;
  ConfigTemplate config;
  std::vector<Override> changes;  ///< for all its points
};

struct StudyAxis {
  std::string name;
  std::string key;  ///< the key that all choices set; empty: several keys, or the base
  std::vector<std::string> labels;
  std::vector<std::vector<Override>> changes;  ///< of each choice
  std::size_t dimension = 0;                   ///< of the grid
  Place place{};                               ///< place in the file
};

/// Ratio of the geometric means of the figures of two groups of points.
struct StudyRatio {
  std::string name;
  study::Selection of;
  study::Selection over;
  std::vector<study::Selection> except;  ///< excluded from both groups
  /// Weights of the figures of some points.
  std::vector<std::pair<study::Selection, std::map<study::Figure, double>>> times;
  std::map<study::Figure, std::string> printed;  ///< published value, digit for digit
};

struct Study {
  std::string name;
  study::Goal goal;         ///< without figures: no objective
  bool solves_all = false;  ///< solve all points, not only those that the front needs
  std::vector<StudyBase> bases;
  std::vector<StudyAxis> axes;  ///< with several bases the first one chooses among them
  std::vector<study::Selection> excluded;
  std::vector<StudyRatio> ratios;
  Json charts = Json::array();  ///< of the page, as in study.json
  /// Places in the file of the figures in the goal and its limits.
  std::vector<std::pair<study::Figure, Place>> figure_places;

  [[nodiscard]] bool has_base_axis() const { return bases.size() > 1; }
};

/// Reads a study and makes all checks that need no point.  Throws one InputError with all errors,
/// each as `file:line:column: key: fault, expectation`.
Study load_study(const std::filesystem::path& file);
/// Reads a study from text; `name` stands for the file in messages and for the folder of configs.
Study parse_study(const std::string& text, const std::filesystem::path& name);

study::Grid grid_of(const Study& study);

/// Keeps only the points with these labels on an axis: "chip=h100,sn30".  Throws InputError.
void restrict_to(Study& study, const std::string& labels);

}  // namespace dfsearch
