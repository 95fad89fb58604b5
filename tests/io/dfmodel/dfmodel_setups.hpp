#pragma once
// The setups under tests/data/dfmodel as configs.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "io/config/load_config.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/text/files.hpp"

namespace dfsearch::test {

// Tests run in the root of the project.
inline const std::filesystem::path kSetups = "tests/data/dfmodel";

inline std::string setup(const std::string& name) { return read_file(kSetups / (name + ".txt")); }

inline Config imported_text(const std::string& text) {
  return parse_config(import_dfmodel(text, "setup"), "setup");
}
inline Config imported(const std::string& name) { return imported_text(setup(name)); }

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

}  // namespace dfsearch::test
