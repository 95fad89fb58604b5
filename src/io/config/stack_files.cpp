#include "io/config/stack_files.hpp"

#include <fmt/format.h>

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
  if (chip.peak[static_cast<std::size_t>(bits_of(precision))] > FlopsPerSecond{}) return {};
  return fmt::format("the chip has no measured products of this precision, {}", name_of(precision));
}

}  // namespace dfsearch
