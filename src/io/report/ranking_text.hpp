#pragma once
// The part of a report that compares the best parallelisms.

#include <string>

#include "engine/solve.hpp"
#include "io/report/sheet.hpp"

namespace dfsearch {

/// How far the next-best parallelism is, or a table of all that were asked for;
/// empty if there is no choice or none was looked for.
Sheet ranking_text(Objective objective, const SearchResult& result);

}  // namespace dfsearch
