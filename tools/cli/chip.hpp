#pragma once
// Configs whose chips are derived from a technology: loading them for a command, and the
// command that shows the chips.

#include <string>
#include <variant>
#include <vector>

#include "cli/options.hpp"
#include "io/config/load_config.hpp"
#include "io/result/outcome.hpp"

namespace dfsearch {

/// That the chip of a config cannot be built, which ends every command that needs it.
struct NoSuchChip {
  Config config;
};

/// The config of the command line, for a command that needs a machine that can run.  Throws
/// InputError, and NoSuchChip.
Config load_runnable(const CommandLine& line);
/// The same, but the budget may leave something to search.
Config load_searchable(const CommandLine& line);
/// The same of any model.
AnyConfig load_any_searchable(const CommandLine& line);

/// The outcome with the chip of the config, if it has one; the config must outlive it.
Outcome with_chip(Outcome outcome, const Config& config);

/// Reports why there is no chip; returns the exit status.
int report_no_chip(const CommandLine& line, const Config& config);

/// The chip of a config that may have nothing else.  Throws InputError, and NoSuchChip.
Config load_chip(const CommandLine& line);

}  // namespace dfsearch
