#pragma once
// Configs of files as values: every file that they name laid into them.

#include <filesystem>

#include "io/text/yaml_tree.hpp"
#include "physics/random_configs.hpp"

namespace dfsearch::test {

/// A tree as a value; scalars that are whole numbers, numbers, yes or no are such.
Json json_of(const YamlNode& node);

/// A measured chip, by its name on the shelf or as a map with keys on top of one.
Json measured_chip(const Json& chip);
/// The bytes of an element that a stack of the shelf holds: null without a stack, empty where the
/// config or nothing decides them.
Json stack_states(const Json& config);

/// The config of a file.  Throws InputError.
Json config_of_file(const std::filesystem::path& file);

}  // namespace dfsearch::test
