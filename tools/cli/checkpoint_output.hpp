#pragma once
// The checkpoints of a search, into a file.

#include <cstddef>
#include <string>

#include "cli/events.hpp"
#include "engine/tree/search_stats.hpp"

namespace dfsearch {

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
