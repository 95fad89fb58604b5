#include "cli/progress_line.hpp"

#include <utility>

#include "cli/standard_output.hpp"

namespace dfsearch {

ProgressLine::ProgressLine(bool quiet, std::function<std::string(double)> text)
    : in_place_(rewrites_lines()), text_(std::move(text)) {
  if (quiet) return;
  ticker_.emplace(Seconds(in_place_ ? 1.0 : 10.0), [this] {
    const std::string line =
        text_(std::chrono::duration<double>(WallClock::now() - start_).count());
    if (in_place_) {
      rewrite_line(line);
    } else {
      print_error(line + "\n");
    }
    line_is_open_ = in_place_;
  });
}

void ProgressLine::finish() {
  if (ticker_) ticker_->stop();
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

}  // namespace dfsearch
