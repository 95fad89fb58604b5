#pragma once
// Configuration text -> values (docs/formats.md).

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "io/config/config_calculon.hpp"
#include "io/config/search_settings.hpp"
#include "model/problem.hpp"

namespace dfsearch {

struct Config {
  Problem problem;
  SearchSettings search;
};

/// Reads a YAML or JSON config, follows its `from:` files, applies the
/// overrides ("system.network.0.degree=16") and checks everything that can be
/// checked without a search.  Throws one InputError with all that is wrong, a
/// `file:line:column: key: what is wrong, what was expected` each.
Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// The same of either model: `equations: calculon` chooses the second one, which load_config
/// refuses.
std::variant<Config, CalculonConfig> load_any_config(const std::filesystem::path& file,
                                                     const std::vector<std::string>& overrides);

/// The same from text; `name` stands for the file in messages and for the folder of
/// `from:` files.
Config parse_config(const std::string& text, const std::filesystem::path& name,
                    const std::vector<std::string>& overrides = {});
std::variant<Config, CalculonConfig> parse_any_config(
    const std::string& text, const std::filesystem::path& name,
    const std::vector<std::string>& overrides = {});

}  // namespace dfsearch
