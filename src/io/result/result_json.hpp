#pragma once
// The result of a command as JSON (docs/results.md).

#include <string>

#include "io/result/outcome.hpp"

namespace dfsearch {

/// One object in SI base units that always has every key; null where there is
/// no value.  All that depends on time or threads is in its "search".  The text
/// is a mapping file as well (io/result/mapping_file.hpp).
std::string result_json(const Outcome& outcome);

}  // namespace dfsearch
