#pragma once
// What all searches set up alike.

#include <string>

#include "cli/events.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/search_history.hpp"
#include "io/solve/question.hpp"

namespace dfsearch {

/// Without the deadline, which begins with the search.  The config says what the command line
/// leaves out.
Limits limits_of(const CommandLine& line, const SearchSettings& settings);

Detail detail_of(const CommandLine& line);

/// Sets who learns of the progress, and how often.  Events, progress and history must outlive the
/// search.
void listen_to_progress(const CommandLine& line, EventStream& events, ProgressPrinter& progress,
                        SearchHistory& history, SolveOptions& options);

/// Where the mapping goes; empty, and the user is warned, if none was found.
std::string mapping_file(const CommandLine& line, bool found);

}  // namespace dfsearch
