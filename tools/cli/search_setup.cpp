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

SearchOptions search_options(const CommandLine& line, const SearchSettings& settings) {
  SearchOptions options;
  options.limits = limits_of(line, settings);
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

ProgressCalls progress_calls(const CommandLine& line, EventStream& events,
                             ProgressPrinter& progress, SearchHistory& history) {
  const bool on = events.is_on();
  ProgressCalls calls{.call = nullptr, .interval = progress.interval()};
  if (on || history.is_on()) {
    calls.interval = std::min(calls.interval, on ? kEventInterval : kHistoryInterval);
  }
  if (!on && !history.is_on() && line.quiet) return calls;
  calls.call = [&events, &progress, &history, on](const Progress& p) {
    progress.print(p);
    history.add(p);
    if (on) events.write(progress_event(p));
  };
  return calls;
}

std::string mapping_file(const CommandLine& line, bool found) {
  if (line.mapping.empty() || found) return line.mapping;
  print_error(line.mapping + ": not written, there is no mapping\n");
  return "";
}

}  // namespace dfsearch
