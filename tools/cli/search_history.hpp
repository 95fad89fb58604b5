#pragma once
// How incumbent and bound of a search met, for its page.

#include <cstddef>
#include <vector>

#include "engine/tree/search_stats.hpp"
#include "io/html/run_page.hpp"

namespace dfsearch {

/// Keeps what a search told, at most 512 times: of more, every second one goes.  Called by one
/// thread at a time.
class SearchHistory {
 public:
  /// Does nothing unless it is on.
  explicit SearchHistory(bool on) : on_(on) {
    if (on) points_.reserve(kMost);  // so that `add` does not throw
  }

  [[nodiscard]] bool is_on() const { return on_; }
  /// What is reported of the next-best parallelism is left out.
  void add(const Progress& progress);
  [[nodiscard]] const std::vector<SearchPoint>& points() const { return points_; }

 private:
  static constexpr std::size_t kMost = 512;

  const bool on_;
  std::vector<SearchPoint> points_;
};

}  // namespace dfsearch
