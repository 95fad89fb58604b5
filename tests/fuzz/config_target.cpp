// Configs: whatever the text, it loads or is refused, and what loads is whole.

#include <string>

#include "fuzz/config_properties.hpp"
#include "fuzz/fuzz_target.hpp"

using namespace dfsearch;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The name is that of a neighbour of configs/*.yaml, so that their `from:` holds.
  const std::string text(fuzz::text_of(data, size));
  const auto config =
      fuzz::unless_refused([&] { return parse_config(text, "configs/input.yaml"); });
  if (config) fuzz::check_config(*config);
  return 0;
}
