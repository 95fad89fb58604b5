#pragma once
// The log of a search, with the columns of the MILP solvers.

#include <string>

#include "engine/tree/search_stats.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The names of the columns; no newline.
std::string progress_header();

/// One line under them; no newline.  The letter at its end tells how the
/// incumbent was found (a letter of docs/results.md), "#2" that the next-best
/// parallelism is sought by now.  The problem gives the utilization of the
/// incumbent; there is none on a machine without cores.
std::string progress_line(const Progress& progress, const Problem& problem);

}  // namespace dfsearch
