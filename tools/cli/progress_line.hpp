#pragma once
// How far a command is, on standard error.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "engine/tree/ticker.hpp"

namespace dfsearch {

/// A line a second on a terminal, rewritten in place, or one every ten seconds in a file.
class ProgressLine {
 public:
  /// `text` of so many seconds since now is asked for by another thread.
  ProgressLine(bool quiet, std::function<std::string(double)> text);
  /// No more lines; ends one that was rewritten.
  void finish();

 private:
  using WallClock = std::chrono::steady_clock;

  const bool in_place_;
  const std::function<std::string(double)> text_;
  const WallClock::time_point start_ = WallClock::now();
  bool line_is_open_ = false;
  std::optional<Ticker> ticker_;  // last: it uses the others
};

}  // namespace dfsearch
