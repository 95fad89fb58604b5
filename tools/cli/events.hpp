#pragma once
// The stream of events of a search.

#include <mutex>
#include <string>
#include <string_view>

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

}  // namespace dfsearch
