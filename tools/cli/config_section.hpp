#pragma once
// Options of a command as keys of its section in a config.

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/option_rows.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// An option of a command, and its values in the command line; a flag has an empty one.
struct OptionValues {
  OptionRow row;
  std::vector<std::string> values = {};
};

/// Reads the section with the name of the command, if its config has one.  Each key is an option
/// without its dashes, each flag true or false.  Options of the command line override keys; a key
/// sets the values of its option.  Throws one InputError with all faults.
void read_section(const CommandRow& command, std::vector<OptionValues>& options, CommandLine& line);

/// The error with options from a section replaced by the place and name of their keys.
InputError placed(const InputError& error, const CommandLine& line);

/// The type of a config with such a section.
const Type& closed_form_config();

}  // namespace dfsearch
