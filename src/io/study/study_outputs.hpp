#pragma once
// The files of a study's folder beside results.ndjson (docs/studies.md, section 4), its report,
// ratios of points, and the merging of folders.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/study/study_file.hpp"
#include "io/study/study_points.hpp"
#include "study/front_search.hpp"
#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch {

/// The value of a ratio: the figures of one group of points over the figures of another group.
struct RatioResult {
  std::string name;
  std::int64_t of = 0;  ///< points of either group
  std::int64_t over = 0;
  std::map<study::Figure, double> values;  ///< figures that all points have
  std::map<study::Figure, std::string> printed;

  /// Whether the value has the published digits of a figure; nothing if none are published.
  [[nodiscard]] std::optional<bool> agrees(study::Figure figure) const;
};

std::vector<RatioResult> ratios_of(const Study& study, const study::Grid& grid,
                                   const study::PointAnswers& answers);

/// The ratios as a table for people.
std::string ratios_text(const std::vector<RatioResult>& ratios);

/// Part of a study, from 0; all of it by default.
struct StudySlice {
  std::int64_t part = 0;
  std::int64_t of = 1;

  /// The part has the points from begin(points) on, before end(points).
  [[nodiscard]] study::PointIndex begin(std::int64_t points) const { return border(points, part); }
  [[nodiscard]] study::PointIndex end(std::int64_t points) const {
    return border(points, part + 1);
  }

 private:
  [[nodiscard]] study::PointIndex border(std::int64_t points, std::int64_t at) const {
    return points / of * at + std::min(at, points % of);
  }
};

/// State of a run, for study.json.
struct StudyState {
  study::StudyCount count;
  bool complete = false;
  StudySlice part;
  std::uint64_t fingerprint = 0;
  std::vector<study::Growth> growth;  ///< of each dimension
  std::vector<RatioResult> ratios;    ///< over the points that are known

  /// Whether all points that had to be solved are proved, exactly or within the gap.
  [[nodiscard]] bool is_proved() const;
  [[nodiscard]] bool is_exact() const;
};

Json study_json(const Study& study, const StudyState& state);

/// The lines of results.ndjson as comma-separated values, in the order of points, with units in the
/// head: the labels of axes and their values in SI base units, figures, decisions, parts of time
/// and memory.
class ResultsTable {
 public:
  explicit ResultsTable(const std::vector<StudyAxis>& axes);
  /// The first line of a point counts.
  void add(const std::string& row);
  [[nodiscard]] std::string text() const;

 private:
  struct Line {
    std::string before, fields, cautions;  // a zero byte ends each field
    std::vector<std::size_t> columns;      // of the fields
  };
  std::vector<std::string> names_;                     // of the axes
  std::vector<std::map<std::string, double>> values_;  // by axis: values of labels with units
  std::string head_;
  /// Index of each column that a row may add, in the order of their appearance.  Ordered as in the
  /// head: by the place of the key, then by the name of the column.
  std::map<std::pair<std::size_t, std::string>, std::size_t> columns_;
  std::map<study::PointIndex, Line> lines_;
};

/// Calls `call` with each line of results.ndjson.
void for_each_row(const std::filesystem::path& ndjson,
                  const std::function<void(const std::string&)>& call);

/// The members of the front among the points that have answers; none if the study has no goal.
std::vector<study::Front::Member> front_of(const Study& study, const study::Grid& grid,
                                           const StudyState& state,
                                           const study::PointAnswers& answers);

/// The report for people: counts, the front or the best points, their proofs, and a warning if
/// points have different kinds of rates.  Aligned, with at most 100 columns except for long labels.
std::string study_report(const Study& study, const study::Grid& grid, const StudyState& state,
                         const std::vector<study::Front::Member>& front,
                         const study::PointAnswers& answers);

/// Results of a run: study.json, front.json and the report.
struct StudyResults {
  Json study, front;
  std::string report;
};

/// Puts the ratios over the answers into the state.
StudyResults results_of(const Study& study, const study::Grid& grid, StudyState& state,
                        const study::PointAnswers& answers);

/// The points of a part that are to be solved.  All arguments but the deadline must outlive it.
std::unique_ptr<study::PointSource> source_of(const Study& study, const study::Grid& grid,
                                              const study::PointKnowledge& knowledge,
                                              const StudySlice& part, const Deadline& deadline);

struct MergedStudy {
  Study study;  ///< without bases and changes
  StudyState state;
  std::string rows;             ///< of results.ndjson, in the order of points
  study::PointAnswers answers;  ///< without their rows
};

/// Throws InputError for parts of different studies, parts that are there twice or missing, and
/// parts that are not complete.
MergedStudy merge_shards(const std::vector<std::filesystem::path>& folders);

/// The study of a study.json, and its state.  Throws InputError.
std::pair<Study, StudyState> load_study_json(const std::filesystem::path& file);

}  // namespace dfsearch
