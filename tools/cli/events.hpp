#pragma once
// The stream of events of a search.

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/tree/search_stats.hpp"

namespace dfsearch {

/// Lines to a file or standard output, each at once.  Any thread.  A stream that
/// cannot be written is reported once and given up; the search goes on.
class EventStream {
 public:
  /// "-" is standard output; empty: nothing is written.  Throws InputError if the
  /// file cannot be opened.
  explicit EventStream(const std::string& file);
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  ~EventStream();

  [[nodiscard]] bool is_on() const { return !file_.empty(); }
  void write(std::string_view line);
  /// Throws InputError if it was given up.
  void finish();

 private:
  void give_up(const std::string& why);

  const std::string file_;
  std::mutex mutex_;     // guards what follows
  int descriptor_ = -1;  // -1: not, or no longer, written
  std::string failure_;
};

/// Replaces the file as a whole at every checkpoint.  One that cannot be written
/// leaves the one before; the search goes on and the next is tried.
class CheckpointFile {
 public:
  CheckpointFile(std::string file, EventStream& events);

  /// A state with its counters as bytes.
  void write(const std::string& bytes, const SearchStats& stats, std::size_t open_nodes);
  /// Throws InputError if the last one could not be written.
  void finish() const;

 private:
  const std::string file_;
  EventStream& events_;
  std::string failure_;  // of the last one
};

}  // namespace dfsearch
