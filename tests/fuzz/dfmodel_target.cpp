// Setups of DFModel: whatever the text, it is imported or refused, and what is
// imported loads as a config.

#include <string>

#include "fuzz/config_properties.hpp"
#include "fuzz/fuzz_target.hpp"
#include "io/dfmodel/import_dfmodel.hpp"

using namespace dfsearch;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto config = fuzz::unless_refused([&] { return import_dfmodel(text, "setup.txt"); });
  if (!config) return 0;
  try {
    fuzz::check_config(parse_config(*config, "imported.yaml"));
  } catch (const InputError& error) {
    throw fuzz::Finding("what is imported loads: " + std::string(error.what()) + "\n" + *config);
  }
  return 0;
}
