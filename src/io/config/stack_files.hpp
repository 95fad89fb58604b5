#pragma once
// Stacks and measured chips by the names of their files on the shelf.

#include <filesystem>
#include <optional>
#include <string>

#include "io/text/input_messages.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch {

/// By a name of configs/stacks, or the path of a file from `directory`.  Nothing, and messages
/// that name `place`, if there is none or it has a mistake.
std::optional<stack::Stack> load_stack(const std::string& name,
                                       const std::filesystem::path& directory, const Place& place,
                                       InputMessages& messages);
/// Loads a measured chip by a name of configs/curves, or the path of a file from `directory`.
std::optional<stack::MeasuredChip> load_measured_chip(const std::string& name,
                                                      const std::filesystem::path& directory,
                                                      const Place& place, InputMessages& messages);

/// What is wrong with a precision on a chip, or an empty text.
std::string missing_precision(const stack::MeasuredChip& chip, stack::Precision precision);

}  // namespace dfsearch
