#pragma once
// The texts that follow from the rows of commands and options.

#include <string>

#include "cli/option_rows.hpp"

namespace dfsearch {

/// What --help prints, of all commands or of one.
std::string help_text();
std::string help_text(const CommandRow& command);

/// A script by which a shell completes commands and options, or a manual page (roff).
std::string completion_text(Shell shell);

}  // namespace dfsearch
