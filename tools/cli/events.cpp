#include "cli/events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "cli/outputs.hpp"
#include "io/result/event_text.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

EventStream::EventStream(const std::string& file) : file_(file) {
  if (file.empty()) return;
  if (file == "-") {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  if (descriptor_ < 0) {
    throw InputError(file + ": cannot be written: " + std::generic_category().message(errno));
  }
}

EventStream::~EventStream() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

void EventStream::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) return;
  try {
    write_all(descriptor_, line, file_ == "-" ? "standard output" : file_);
  } catch (const InputError& error) {
    give_up(error.messages().front());
  }
}

void EventStream::give_up(const std::string& why) {
  failure_ = why;
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  descriptor_ = -1;
  print_notes({why + "; the search goes on without events"});
}

void EventStream::finish() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ > STDERR_FILENO && ::close(std::exchange(descriptor_, -1)) != 0) {
    failure_ = file_ + ": cannot be written: " + std::generic_category().message(errno);
  }
  descriptor_ = -1;
  if (!failure_.empty()) throw InputError("the events are incomplete: " + failure_);
}

CheckpointFile::CheckpointFile(std::string file, EventStream& events)
    : file_(std::move(file)), events_(events) {}

void CheckpointFile::write(const std::string& bytes, const SearchStats& stats,
                           std::size_t open_nodes) {
  try {
    write_file(file_, bytes);
    failure_.clear();
    events_.write(checkpoint_event(stats, file_, open_nodes, bytes.size()));
  } catch (const InputError& error) {
    // Told once; it may pass.
    if (failure_.empty()) print_notes({error.messages().front() + "; the search goes on"});
    failure_ = error.messages().front();
  }
}

void CheckpointFile::finish() const {
  if (!failure_.empty()) throw InputError("the last checkpoint is missing: " + failure_);
}

}  // namespace dfsearch
