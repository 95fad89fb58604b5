#pragma once
// The points of a study: their configs, the facts known without a search, their answers.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "io/config/load_config.hpp"
#include "io/solve/question.hpp"
#include "io/study/study_file.hpp"
#include "model/mapping.hpp"
#include "study/front_search.hpp"
#include "study/grid.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// The search of each point.  Time and nodes are limits of one point, memory is a limit of all
/// points solved at once; a deterministic search leaves times out of the rows.
struct PointSearch {
  SearchRequest request{};
  Deadline deadline{};  ///< of the whole run
};

/// Refers to the study.  `config`, `facts` and `solve` may be called from any thread.
class StudyPoints {
 public:
  StudyPoints(const Study& study, const PointSearch& search);

  [[nodiscard]] const study::Grid& grid() const { return grid_; }
  /// The labels of a point: "sram=320 MiB, link=pcie".
  [[nodiscard]] std::string name(study::PointIndex point) const;
  /// The point with this number or these labels: "sram=320 MiB,link=pcie" has one for each axis.
  /// Throws InputError.
  [[nodiscard]] study::PointIndex find(const std::string& text) const;

  /// The config of a point; throws an InputError that names the point.
  [[nodiscard]] AnyConfig config(study::PointIndex point) const;
  /// The config as a text that is valid in any folder.
  [[nodiscard]] std::string config_text(study::PointIndex point) const;
  /// Loads the configs of all points if they are few; else of each choice of each axis, with the
  /// first and with the last choices of the other axes.  Throws one InputError with all faults.
  void check() const;
  /// Differs between studies with different points; made from the points that `check` loads.
  [[nodiscard]] std::uint64_t fingerprint() const;

  [[nodiscard]] std::vector<study::Growth> growth() const;
  [[nodiscard]] study::PointFacts facts(study::PointIndex point) const;
  [[nodiscard]] study::PointAnswer solve(study::PointIndex point,
                                         const study::PointEffort& effort) const;

 private:
  void check_figures(study::PointIndex point, const AnyConfig& config,
                     std::map<study::Figure, std::string>& lacking) const;
  [[nodiscard]] const StudyBase& base_of(const study::Choices& choices) const;
  [[nodiscard]] std::vector<Override> changes_of(const study::Choices& choices) const;
  [[nodiscard]] std::vector<study::PointIndex> samples() const;
  [[nodiscard]] study::Growth growth_along(std::size_t dimension) const;
  [[nodiscard]] Hint hint_for(const AnyConfig& config, const study::PointEffort& effort) const;
  [[nodiscard]] Limits limits_of(const AnyConfig& config, const study::PointEffort& effort) const;
  [[nodiscard]] AnswerJson answer_json(const AnyConfig& config, const study::PointEffort& effort,
                                       bool& stopped_by_effort) const;

  const Study& study_;
  const PointSearch search_;
  const study::Grid grid_;
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, Mapping> last_;  // by lane: its last mapping; guarded by mutex_
};

}  // namespace dfsearch
