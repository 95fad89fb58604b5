#pragma once
// What searches for mappings and searches over budgets set up alike.

#include <string>

#include "cli/events.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/search_history.hpp"
#include "engine/search_options.hpp"
#include "engine/search_result.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// Limits, threads and bounds; the config says what the command line leaves out.
SearchOptions search_options(const CommandLine& line, const SearchSettings& settings);

Detail detail_of(const CommandLine& line);

/// Sets what is called once an interval; events, progress and history must outlive the search.
void listen_to_progress(const CommandLine& line, EventStream& events, ProgressPrinter& progress,
                        SearchHistory& history, SearchOptions& options);

/// Where the mapping goes; empty, and the user is told, if there is none.
std::string mapping_file(const CommandLine& line, const SearchResult& result);

}  // namespace dfsearch
