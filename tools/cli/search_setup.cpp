#include "cli/search_setup.hpp"

#include <algorithm>

#include "cli/machine_memory.hpp"
#include "cli/standard_output.hpp"
#include "io/result/event_text.hpp"

namespace dfsearch {
namespace {

constexpr Seconds kEventInterval{1.0};
constexpr Seconds kHistoryInterval{0.1};

}  // namespace

SearchOptions search_options(const CommandLine& line, const SearchSettings& settings) {
  SearchOptions options;
  options.limits.memory =
      line.memory_limit.value_or(settings.memory_limit.value_or(0.5 * machine_memory()));
  options.limits.gap = line.gap.value_or(settings.gap);
  if (line.node_limit) options.limits.nodes = *line.node_limit;
  options.threads = line.threads;
  options.top = line.top.value_or(1);
  options.next_best = !line.top;
  options.beyond_scope = !line.quiet;
  options.bounds = line.bounds;
  options.deterministic = line.deterministic;
  return options;
}

Detail detail_of(const CommandLine& line) {
  if (line.quiet) return Detail::Quiet;
  return line.verbose ? Detail::Verbose : Detail::Normal;
}

void listen_to_progress(const CommandLine& line, EventStream& events, ProgressPrinter& progress,
                        SearchHistory& history, SearchOptions& options) {
  const bool on = events.is_on();
  options.progress_interval = progress.interval();
  if (on || history.is_on()) {
    options.progress_interval =
        std::min(options.progress_interval, on ? kEventInterval : kHistoryInterval);
  }
  options.progress_nodes = ProgressPrinter::kNodes;
  if (!on && !history.is_on() && line.quiet) return;
  options.on_progress = [&events, &progress, &history, on](const Progress& p) {
    progress.print(p);
    history.add(p);
    if (on) events.write(progress_event(p));
  };
}

std::string mapping_file(const CommandLine& line, const SearchResult& result) {
  if (line.mapping.empty() || result.mapping) return line.mapping;
  print_error(line.mapping + ": not written, there is no mapping\n");
  return "";
}

}  // namespace dfsearch
