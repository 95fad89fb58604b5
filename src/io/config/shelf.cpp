#include "io/config/shelf.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

/// What one of a kind is called.
const char* single_of(ShelfKind kind) {
  switch (kind) {
    case ShelfKind::Systems:
      return "system";
    case ShelfKind::Workloads:
      return "workload";
    case ShelfKind::Efficiencies:
      return "set of rates";
    case ShelfKind::Studies:
      return "study";
  }
  return "";
}

}  // namespace

const char* name_of(ShelfKind kind) {
  switch (kind) {
    case ShelfKind::Systems:
      return "systems";
    case ShelfKind::Workloads:
      return "workloads";
    case ShelfKind::Efficiencies:
      return "efficiencies";
    case ShelfKind::Studies:
      return "studies";
  }
  return "";
}

std::string ShelfFile::source() const {
  return fmt::format("shelf/{}/{}.yaml", name_of(kind), name);
}

std::string_view ShelfFile::description() const {
  if (!text.starts_with("# ")) return {};
  return text.substr(2, text.find('\n') - 2);
}

bool ShelfFile::is_model() const {
  return kind == ShelfKind::Workloads && text.find("\nvocabulary:") != std::string_view::npos;
}

const ShelfFile* find_on_shelf(ShelfKind kind, std::string_view name) {
  const std::span<const ShelfFile> files = shelf(kind);
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ShelfFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

bool is_shelf_name(std::string_view word) {
  return !word.empty() && word.find_first_of("./\\") == std::string_view::npos;
}

std::string not_on_shelf(ShelfKind kind, std::string_view name) {
  std::vector<std::string_view> names;
  for (const ShelfFile& file : shelf(kind)) names.push_back(file.name);
  return fmt::format(
      "there is no {} {} on the shelf, expected a name of configs/{} or the path of a file, like "
      "'./NAME' or 'NAME.yaml'{}",
      single_of(kind), in_quotes(name), name_of(kind), suggestion(name, names));
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const ShelfFile& file : shelf(ShelfKind::Workloads)) {
    if (file.is_model()) names.push_back(file.name);
  }
  return names;
}

}  // namespace dfsearch
