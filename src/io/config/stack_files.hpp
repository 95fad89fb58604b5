#pragma once
// Stacks and measured chips by the names of their files on the shelf.

#include <filesystem>
#include <optional>
#include <string>

#include "io/text/input_messages.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch {

/// Loads a stack by a name of configs/stacks, or the path of a file from `directory`.  Returns
/// nothing, and adds messages at `place`, if there is none or it has a mistake.
std::optional<stack::Stack> load_stack(const std::string& name,
                                       const std::filesystem::path& directory, const Place& place,
                                       InputMessages& messages);
/// Loads a measured chip by a name of configs/curves, or the path of a file from `directory`.
std::optional<stack::MeasuredChip> load_measured_chip(const std::string& name,
                                                      const std::filesystem::path& directory,
                                                      const Place& place, InputMessages& messages);

/// A message if the chip has no measured products of a precision, or an empty text.
std::string missing_precision(const stack::MeasuredChip& chip, stack::Precision precision);

}  // namespace dfsearch
