#pragma once
// The lines of points in results.ndjson, and the journal that appends them (docs/studies.md,
// section 4).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/json_text.hpp"
#include "study/grid.hpp"
#include "study/point_answer.hpp"

namespace dfsearch {

template <HasWords E>
std::optional<E> value_of(const Json& text) {
  return text.is_string() ? value_named<E>(text.get<std::string>()) : std::nullopt;
}

/// The parts of a line that are not part of the result of its config.
struct ResultRow {
  study::PointIndex index = 0;
  std::vector<std::pair<std::string, std::string>> axes;  ///< name and label
  std::string reason;
  bool tells_time = true;
  study::Rates rates = study::Rates::Unknown;
};

/// The answer and its line, from a result; unless the row has a reason, "reason" is the infeasible
/// resource of the result.
study::PointAnswer answer_of(const ResultRow& row, const Json& result);

/// Reads a line.  Throws InputError for a line of another form.
study::PointAnswer answer_of_row(const std::string& row);
/// The answer of a line that is parsed already.
study::PointAnswer answer_of(const Json& line, const std::string& row);

/// The answer of a line in a file: the line must belong to a point of the grid and be unchanged
/// since it was written.  Throws InputError.
study::PointAnswer checked_answer_of(const std::string& row, const study::Grid& grid);

// results.ndjson: a line for each point, appended as it comes.

/// The answers of a study on disk.  One process writes; each line is one write, so that a kill
/// leaves whole lines and at most one partial line at the end, which the constructor removes.
class Journal {
 public:
  /// Opens the file in the folder, or makes it, and reads its lines; the first line of a point
  /// counts.  Throws InputError for a file that cannot be read or written, is in use by another
  /// process, or contains a line for no point of the grid.
  Journal(const std::filesystem::path& folder, const study::Grid& grid);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// The answer of this run or an earlier one, without its row; null if there is none.
  [[nodiscard]] const study::PointAnswer* find(study::PointIndex point) const;
  [[nodiscard]] const study::PointAnswers& answers() const { return answers_; }

  /// Appends the row of the answer.  Throws InputError after removing the written part of the line.
  void append(const study::PointAnswer& answer);

 private:
  void read(const study::Grid& grid);

  const std::filesystem::path file_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;  // of whole lines
  study::PointAnswers answers_;
};

}  // namespace dfsearch
