#pragma once
// Folders with the parts of a study, put together.

#include <filesystem>
#include <vector>

#include "io/study/study_outputs.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

struct MergedStudy {
  Study study;  ///< without bases and changes
  StudyState state;
  std::string rows;  ///< of results.ndjson, in the order of points
  std::vector<study::Front::Member> front;
  study::PointAnswers answers;  ///< without their rows
};

/// Throws InputError for parts of different studies, parts that are there twice or missing, and parts
/// that are not complete.
MergedStudy merge_shards(const std::vector<std::filesystem::path>& folders);

/// The study that a study.json tells of, and its state.  Throws InputError.
std::pair<Study, StudyState> load_study_json(const std::filesystem::path& file);

}  // namespace dfsearch
