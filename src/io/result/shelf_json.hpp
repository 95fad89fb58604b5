#pragma once
// What is on the shelf, as JSON (docs/results.md).

#include <span>
#include <string>

#include "io/config/shelf.hpp"

namespace dfsearch {

/// An object with a list for each of the kinds, which are among systems, workloads and studies; SI
/// base units, null where a file leaves something to the config.
std::string shelf_json(std::span<const ShelfKind> kinds);

}  // namespace dfsearch
