#include "cli/checkpoint_output.hpp"

#include <utility>

#include "base/error.hpp"
#include "cli/standard_output.hpp"
#include "io/result/event_text.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

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
