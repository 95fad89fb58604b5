#pragma once
// The split of a result -> a point of the grid (docs/results.md).

#include <filesystem>
#include <optional>

#include "design/split_space.hpp"
#include "model/ruled_out.hpp"

namespace dfsearch {

/// Reads the key `split` of a result, which has each share that the budget leaves out.  Returns
/// nothing and adds reasons if the search has no such split.  Throws one InputError with all that
/// is wrong, `file:line:column: key: ...`.
std::optional<GridPoint> load_split(const std::filesystem::path& file, const ChipDesign& design,
                                    RuledOut& reasons);

}  // namespace dfsearch
