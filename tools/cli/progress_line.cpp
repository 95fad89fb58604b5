#include "cli/progress_line.hpp"

#include <unistd.h>

#include <utility>

#include "cli/standard_output.hpp"

namespace dfsearch {

ProgressLine::ProgressLine(bool quiet, std::function<std::string(double)> text)
    : in_place_(isatty(STDERR_FILENO) != 0), text_(std::move(text)) {
  if (quiet) return;
  ticker_.emplace(Seconds(in_place_ ? 1.0 : 10.0), [this] {
    const std::string line =
        text_(std::chrono::duration<double>(WallClock::now() - start_).count());
    print_error(in_place_ ? "\r" + line + "\033[K" : line + "\n");
    line_is_open_ = in_place_;
  });
}

void ProgressLine::finish() {
  if (ticker_) ticker_->stop();
  if (line_is_open_) print_error("\n");
  line_is_open_ = false;
}

}  // namespace dfsearch
