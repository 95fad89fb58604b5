#include "io/study/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "io/study/result_row.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw InputError(file.string() + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

Journal::Journal(const std::filesystem::path& folder, const study::Grid& grid)
    : file_(folder / "results.ndjson") {
  descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(file_, "cannot be opened");
  try {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      throw InputError(file_.string() + ": is no regular file");
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      throw InputError(file_.string() + ": another run of the study writes it");
    }
    read(grid);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Journal::~Journal() { close(descriptor_); }

void Journal::read(const study::Grid& grid) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(file_, "cannot be read");
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // torn by a kill or a full disk
    try {
      study::PointAnswer answer = checked_answer_of(text.substr(at, end - at), grid);
      answer.row = {};  // the file has it
      answers_.emplace(answer.index, std::move(answer));
    } catch (const InputError& wrong) {
      throw InputError(fmt::format("{}:{}:1: {}", file_.string(), line, wrong.messages().front()));
    }
    at = end + 1;
    size_ = static_cast<std::int64_t>(at);
  }
  if (size_ < static_cast<std::int64_t>(text.size()) && ftruncate(descriptor_, size_) != 0) {
    fail(file_, "cannot be cut to its whole lines");
  }
  if (lseek(descriptor_, size_, SEEK_SET) < 0) fail(file_, "cannot be written");
}

const study::PointAnswer* Journal::find(study::PointIndex point) const {
  const auto found = answers_.find(point);
  return found == answers_.end() ? nullptr : &found->second;
}

void Journal::append(const study::PointAnswer& answer) {
  const std::string line = answer.row + "\n";
  try {
    write_all(descriptor_, line, file_.string());
  } catch (const InputError&) {
    // Removes a line that did not fit, as far as that is possible.
    static_cast<void>(ftruncate(descriptor_, size_) == 0 &&
                      lseek(descriptor_, size_, SEEK_SET) == size_);
    throw;
  }
  size_ += static_cast<std::int64_t>(line.size());
  study::PointAnswer kept = answer;
  kept.row = {};
  answers_.emplace(answer.index, std::move(kept));
}

}  // namespace dfsearch
