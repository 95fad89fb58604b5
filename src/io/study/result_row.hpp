#pragma once
// The line of one point in results.ndjson (docs/studies.md, section 4).

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/json_text.hpp"
#include "study/grid.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

/// The value of an enumeration that a text names.
template <class E>
std::optional<E> value_named(const Json& text) {
  for (const auto& word : words(E{})) {
    if (text == word.name) return word.value;
  }
  return std::nullopt;
}

/// The parts of a line beside the result of its config.
struct ResultRow {
  study::PointIndex index = 0;
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and label
  std::string reason;
  bool tells_time = true;
  study::Rates rates = study::Rates::Unknown;
};

/// The answer and its line, from a result; "reason" comes from the infeasible resource there unless
/// the row has one.
study::PointAnswer answer_of(const ResultRow& row, const Json& result);

/// Reads a line.  Throws InputError for a line of another form.
study::PointAnswer answer_of_row(const std::string& row);
/// The answer of a line that is parsed already.
study::PointAnswer answer_of(const Json& line, const std::string& row);

/// The answer of a line in a file: the line must belong to a point of the grid and be unchanged
/// since it was written.  Throws InputError.
study::PointAnswer checked_answer_of(const std::string& row, const study::Grid& grid);

}  // namespace dfsearch
