#pragma once
// What all searches set up alike.

#include <functional>
#include <string>

#include "cli/events.hpp"
#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/search_history.hpp"
#include "engine/search_options.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// Without the deadline, which begins with the search.  The config says what the command line
/// leaves out.
Limits limits_of(const CommandLine& line, const SearchSettings& settings);

/// Limits, threads and bounds of a search for mappings.
SearchOptions search_options(const CommandLine& line, const SearchSettings& settings);

Detail detail_of(const CommandLine& line);

/// Who is told of the progress, once an interval or so many nodes.  Events, progress and history
/// must outlive it.
struct ProgressCalls {
  std::function<void(const Progress&)> call;  ///< null: nobody
  Seconds interval{};
  std::int64_t nodes = ProgressPrinter::kNodes;
};
ProgressCalls progress_calls(const CommandLine& line, EventStream& events,
                             ProgressPrinter& progress, SearchHistory& history);

/// Puts them into the options of a search.
template <class Options>
void listen_to_progress(ProgressCalls calls, Options& options) {
  options.on_progress = std::move(calls.call);
  options.progress_interval = calls.interval;
  options.progress_nodes = calls.nodes;
}

/// Where the mapping goes; empty, and the user is told, if none was found.
std::string mapping_file(const CommandLine& line, bool found);

}  // namespace dfsearch
