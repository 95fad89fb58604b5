#pragma once
// Checkpoints of a search as files.

#include <filesystem>
#include <string>

#include "design/split_space.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/plan/step_search.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

std::string checkpoint_bytes(const Problem& problem, const SearchState& state);

/// Reads a state back.  Throws InputError, naming the file, if it is no checkpoint, damaged, of
/// another version of dfsearch or of another problem.
SearchState load_checkpoint(const std::filesystem::path& file, const Problem& problem);
SearchState parse_checkpoint(const std::string& bytes, const std::string& name,
                             const Problem& problem);

Fingerprint fingerprint_of(const Problem& problem, const ChipDesign& design);

std::string checkpoint_bytes(const Problem& problem, const ChipDesign& design,
                             const SplitState& state);

/// Reads a state back; every box and split is within the grid.  Throws InputError, naming the file,
/// if it is no checkpoint, damaged, of another version of dfsearch or of another problem.
SplitState parse_checkpoint(const std::string& bytes, const std::string& name,
                            const Problem& problem, const ChipDesign& design);
SplitState load_checkpoint(const std::filesystem::path& file, const Problem& problem,
                           const ChipDesign& design);

/// The state as bytes; `problem` is the fingerprint of the config.
std::string checkpoint_bytes(const StepState& state, const Fingerprint& problem);

/// Reads a state back.  Throws InputError, naming the file, if it is no checkpoint, damaged, of
/// another version of dfsearch or of another config.
StepState parse_step_checkpoint(const std::string& bytes, const std::string& name,
                                const Fingerprint& problem);
StepState load_step_checkpoint(const std::filesystem::path& file, const Fingerprint& problem);

}  // namespace dfsearch
