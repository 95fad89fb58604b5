#include "model/memory/trained.hpp"

namespace dfsearch::memory {
namespace {

constexpr std::size_t kSets = static_cast<std::size_t>(Recompute::Full);

std::array<std::string, kSets> names_of_sets() {
  std::array<std::string, kSets> joined;
  for (std::size_t set = 0; set < kSets; ++set) {
    for (const std::string& name : names_of(static_cast<Recompute>(set))) {
      joined[set] += (joined[set].empty() ? "" : "+") + name;
    }
  }
  return joined;
}

}  // namespace

std::vector<std::string> names_of(Recompute recompute) {
  for (const auto& word : words(Recompute{})) {
    if (word.value == recompute) return {word.name};
  }
  std::vector<std::string> names;
  for (const auto& module : words(Module{})) {
    if (has(recompute, module.value)) names.emplace_back(module.name);
  }
  return names;
}

const char* name_of(Recompute recompute) {
  if (const char* const name = dfsearch::name_of(recompute); *name != '\0') return name;
  static const auto kNames = names_of_sets();
  return kNames[static_cast<std::size_t>(recompute)].c_str();
}

std::optional<Recompute> recompute_of(std::string_view name) {
  Recompute all = Recompute::None;
  bool is_first = true;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('+', begin), name.size());
    const std::string_view one = name.substr(begin, end - begin);
    const auto found = value_named<Recompute>(one);
    const bool is_alone = is_first && end == name.size();
    if (!found || (!is_alone && !is_listed(*found))) return std::nullopt;
    all = all | *found;
    is_first = false;
    begin = end + 1;
  }
  return all;
}

}  // namespace dfsearch::memory
