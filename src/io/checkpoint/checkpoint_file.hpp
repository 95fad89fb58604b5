#pragma once
// Checkpoints of a search as files.

#include <filesystem>
#include <string>

#include "engine/answer/search_state.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The state as bytes, with the fingerprint of the problem.
std::string checkpoint_bytes(const Problem& problem, const SearchState& state);

/// Reads them back.  Throws InputError, naming the file, if they are no
/// checkpoint, damaged, of another version of dfsearch or of another problem.
SearchState load_checkpoint(const std::filesystem::path& file, const Problem& problem);
SearchState parse_checkpoint(const std::string& bytes, const std::string& name,
                             const Problem& problem);

/// Throws InputError if the file holds something that a checkpoint of this problem
/// must not replace: anything but one, or a checkpoint of another problem.
void check_replaceable(const std::filesystem::path& file, const Problem& problem);

}  // namespace dfsearch
