#pragma once
// The log of a search on standard error.

#include <cstdint>
#include <string>

#include "engine/tree/search_stats.hpp"
#include "io/report/progress_text.hpp"

namespace dfsearch {

enum class Detail { Quiet, Normal, Verbose };

/// On a terminal one line, rewritten every second; in a file one more line every
/// ten seconds; with Verbose also one for every better mapping.  Nothing for a
/// search that ends before the first of them.  Of a deterministic search nodes are
/// counted in place of seconds, so that it has the same log every time.
///
/// Called by one thread at a time, which `solve` promises.
class ProgressPrinter {
 public:
  ProgressPrinter(const ProgressScale& scale, Detail detail, bool deterministic);

  /// How often `solve` should call: `interval` seconds, or so many nodes.
  [[nodiscard]] Seconds interval() const;
  static constexpr std::int64_t kNodes = 1024;  // a second or a few of a hard search
  void print(const Progress& progress);
  /// Ends a line that was rewritten in place; call it after the search.
  void finish();

 private:
  [[nodiscard]] bool is_due(const Progress& progress) const;
  void print_header_if_due();

  const ProgressScale scale_;
  Detail detail_;
  bool deterministic_;
  bool in_place_;
  int lines_ = 0;              ///< lasting ones since the header
  bool line_is_open_ = false;  ///< one that the next rewrites
  Seconds last_{};             ///< of the last line
  std::int64_t last_nodes_ = 0;
  Score incumbent_ = Score::infinity();
  int rank_ = 1;
};

}  // namespace dfsearch
