// Config files of checkpoints: whatever the text, it is imported or refused, and what is
// imported loads in a config, unless it is a family without equations.

#include <string>

#include "fuzz/config_properties.hpp"
#include "fuzz/fuzz_target.hpp"
#include "io/huggingface/import_huggingface.hpp"

using namespace dfsearch;

namespace {

constexpr const char* kSystem =
    "system:\n"
    "  chips: 1\n"
    "  accelerator: {cores: 1, lanes: 1, stages: 1, frequency: 1 GHz, sram: 1 GB}\n"
    "  memory: {bandwidth: 1 GB/s}\n";

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const auto section =
      fuzz::unless_refused([&] { return import_huggingface(text, "config.json"); });
  if (!section) return 0;
  // As a mapping: what is checked of configs is about these.
  std::string config = *section + kSystem;
  const std::string plan = "training: {}\n";
  if (const std::size_t at = config.find(plan); at != std::string::npos)
    config.erase(at, plan.size());
  try {
    fuzz::check_config(parse_config(config, "imported.yaml"));
  } catch (const InputError& error) {
    if (section->find("\n  family: ") != std::string::npos) return 0;
    throw fuzz::Finding("what is imported loads: " + std::string(error.what()) + "\n" + *section);
  }
  return 0;
}
