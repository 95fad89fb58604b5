#pragma once
// The setups under tests/data/dfmodel, and configs that went through one.

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "io/config/load_config.hpp"
#include "io/dfmodel/export_dfmodel.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch::test {

// Tests run in the root of the project.
inline const std::filesystem::path kSetups = "tests/data/dfmodel";

inline std::string setup(const std::string& name) { return read_file(kSetups / (name + ".txt")); }

inline Config imported_text(const std::string& text) {
  return parse_config(import_dfmodel(text, "setup"), "setup");
}
inline Config imported(const std::string& name) { return imported_text(setup(name)); }

/// Written as a setup and read again.
inline Config round_trip(const Config& config) {
  return imported_text(export_dfmodel(config, "config"));
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

/// What DFModel has no field for is refused with a message that begins so.
inline void check_refused(const Config& config, const std::string& key) {
  std::string message = "accepted";
  try {
    export_dfmodel(config, "c.yaml");
  } catch (const InputError& error) {
    message = error.messages().front();
  }
  INFO(key, "\n", message);
  CHECK(message.starts_with("c.yaml: " + key + ": cannot be expressed for DFModel: "));
}

}  // namespace dfsearch::test
