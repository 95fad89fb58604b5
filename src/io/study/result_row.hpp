#pragma once
// The line of one point in results.ndjson (docs/studies.md, section 4).

#include <string>
#include <utility>
#include <vector>

#include "study/grid.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// What a line has beside the result of its config.
struct ResultRow {
  study::PointIndex index = 0;
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and label
  std::string reason;
  bool tells_time = true;
  study::Rates rates = study::Rates::Unknown;
};

/// The line, without its end, from the text of a result JSON; "reason" is made of what is infeasible
/// there unless the row has one.
std::string row_text(const ResultRow& row, const std::string& result);

/// What a line says.  Throws InputError for one that is no such line.
study::PointAnswer answer_of(const std::string& row);

/// The same of a line that a file holds: it must be of a point of the grid, and say what was once
/// written.  Throws InputError.
study::PointAnswer checked_answer_of(const std::string& row, const study::Grid& grid);

}  // namespace dfsearch
