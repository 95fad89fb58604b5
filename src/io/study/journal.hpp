#pragma once
// results.ndjson: a line for each point, appended as it comes.

#include <cstdint>
#include <filesystem>

#include "study/point_answer.hpp"

namespace dfsearch {

/// The answers of a study on disk.  One process writes; each line is one write, so that a kill
/// leaves whole lines and at most one torn one at the end, which opening takes away.
class Journal {
 public:
  /// Opens the file in the folder, or makes it, and reads its lines; the first line of a point
  /// counts.  Throws InputError for a file that cannot be read or written, is in use by another
  /// process, or contains a line for no point of the grid.
  Journal(const std::filesystem::path& folder, const study::Grid& grid);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// The answer of this run or an earlier one, without its row, or null.
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
