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

Limits limits_of(const CommandLine& line, const SearchSettings& settings) {
  Limits limits;
  limits.memory =
      line.memory_limit.value_or(settings.memory_limit.value_or(0.5 * machine_memory()));
  limits.gap = line.gap.value_or(settings.gap);
  if (line.node_limit) limits.nodes = *line.node_limit;
  return limits;
}

Detail detail_of(const CommandLine& line) {
  if (line.quiet) return Detail::Quiet;
  return line.verbose ? Detail::Verbose : Detail::Normal;
}

void listen_to_progress(const CommandLine& line, EventStream& events, ProgressPrinter& progress,
                        SearchHistory& history, SolveOptions& options) {
  const bool on = events.is_on();
  options.progress_nodes = ProgressPrinter::kNodes;
  options.progress_interval = progress.interval();
  if (on || history.is_on()) {
    options.progress_interval =
        std::min(options.progress_interval, on ? kEventInterval : kHistoryInterval);
  }
  if (!on && !history.is_on() && line.quiet) return;
  options.on_progress = [&events, &progress, &history, on](const Progress& p) {
    progress.print(p);
    history.add(p);
    if (on) events.write(progress_event(p));
  };
}

std::string mapping_file(const CommandLine& line, bool found) {
  if (line.mapping.empty() || found) return line.mapping;
  print_notes({line.mapping + ": not written, there is no mapping"});
  return "";
}

}  // namespace dfsearch
