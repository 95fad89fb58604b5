#include "io/config/stack_files.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "io/config/config_tree.hpp"
#include "io/schema/read_schema.hpp"

namespace dfsearch {
namespace {

template <class T>
std::optional<T> load(const std::string& name, const std::filesystem::path& directory,
                      ShelfKind kind, const Place& place, InputMessages& messages) {
  const std::size_t before = messages.count();
  const YamlNode tree = named_tree(name, directory, kind, place, messages);
  T object;
  if (messages.count() != before) return std::nullopt;
  if (!read_object(MapReader(tree, name, tree.place, messages), object)) return std::nullopt;
  return object;
}

}  // namespace

std::optional<stack::Stack> load_stack(const std::string& name,
                                       const std::filesystem::path& directory, const Place& place,
                                       InputMessages& messages) {
  return load<stack::Stack>(name, directory, ShelfKind::Stacks, place, messages);
}

std::optional<stack::MeasuredChip> load_measured_chip(const std::string& name,
                                                      const std::filesystem::path& directory,
                                                      const Place& place, InputMessages& messages) {
  return load<stack::MeasuredChip>(name, directory, ShelfKind::Curves, place, messages);
}

std::string missing_precision(const stack::MeasuredChip& chip, stack::Precision precision) {
  const auto measured = [&](stack::Precision of) {
    return chip.peak[static_cast<std::size_t>(bits_of(of))] > FlopsPerSecond{};
  };
  if (measured(precision)) return {};
  std::vector<std::string_view> names;
  for (const auto& word : words(precision)) {
    if (measured(word.value)) names.emplace_back(word.name);
  }
  return fmt::format("expected {}, of which the chip has measured products, got '{}'",
                     joined_choices(names), name_of(precision));
}

}  // namespace dfsearch
