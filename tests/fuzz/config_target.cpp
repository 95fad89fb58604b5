// Configs: whatever the text, it loads or is refused, and what loads is whole.  Lines
// that begin with #--set are overrides of the command line as well as comments.

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/config_properties.hpp"
#include "fuzz/fuzz_target.hpp"

using namespace dfsearch;

namespace {

std::vector<std::string> overrides_in(std::string_view text) {
  constexpr std::string_view kMark = "#--set ";
  std::vector<std::string> overrides;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kMark)) overrides.emplace_back(line.substr(kMark.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return overrides;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The name is in the folder of configs/*.yaml, so that their `from:` holds.
  const std::string text(fuzz::text_of(data, size));
  const auto config = fuzz::unless_refused(
      [&] { return parse_any_config(text, "configs/input.yaml", overrides_in(text)); });
  if (!config) return 0;
  if (const auto* first = std::get_if<Config>(&*config)) {
    fuzz::check_config(*first);
  } else if (const auto* calculon = std::get_if<CalculonConfig>(&*config)) {
    fuzz::check_task(calculon->task);
  } else if (const auto* training = std::get_if<TrainingConfig>(&*config)) {
    fuzz::check_task(training->task);
  } else {
    fuzz::check_task(std::get<ServingConfig>(*config).task);
  }
  return 0;
}
