#pragma once
// Checkpoints of a search over splits of the budgets as files.

#include <filesystem>
#include <string>

#include "design/split_space.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Of the problem and of what its chips are derived from.
Fingerprint fingerprint_of(const Problem& problem, const ChipDesign& design);

/// The state as bytes.
std::string checkpoint_bytes(const Problem& problem, const ChipDesign& design,
                             const SplitState& state);

/// Reads them back; every box and split is within the grid.  Throws InputError, naming the file, if
/// they are no checkpoint, damaged, of another version of dfsearch or of another problem.
SplitState parse_checkpoint(const std::string& bytes, const std::string& name,
                            const Problem& problem, const ChipDesign& design);
SplitState load_checkpoint(const std::filesystem::path& file, const Problem& problem,
                           const ChipDesign& design);

}  // namespace dfsearch
