#pragma once
// The report for people (docs/results.md explains it line by line).

#include <string>

#include "io/result/outcome.hpp"

namespace dfsearch {

/// Everything there is to say about an outcome, as aligned text of at most 100
/// columns; `title` names the config.  Ends in a newline.  After a long search, and with details,
/// there is a table of what its parts did.
std::string report_text(const Outcome& outcome, const std::string& title,
                        bool with_details = false);

/// The workload and the machine alone, for `check`.
std::string problem_text(const Problem& problem);

}  // namespace dfsearch
