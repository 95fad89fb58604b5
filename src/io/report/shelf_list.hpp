#pragma once
// The files of the shelf, for people: a line for each.

#include <span>
#include <string>

#include "io/config/shelf.hpp"

namespace dfsearch {

/// A block for each of the kinds, which are among systems, workloads and studies: a header, then a
/// line with the name of each file, its main figures and its description, in columns.  Ends in a
/// newline.
std::string shelf_list(std::span<const ShelfKind> kinds);

}  // namespace dfsearch
