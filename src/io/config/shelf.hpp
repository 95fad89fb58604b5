#pragma once
// The shelf: machines, workloads, rates of chips and studies that a config may name from any
// folder.  They are the files of configs/systems/, workloads/, efficiencies/ and studies/, part
// of the library as text.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

enum class ShelfKind : std::uint8_t { Systems, Workloads, Efficiencies, Studies };

/// A file of the shelf.
struct ShelfFile {
  ShelfKind kind = ShelfKind::Systems;
  std::string_view name;  ///< of the file, without folder and ending
  std::string_view text;  ///< YAML

  /// What messages call it: `shelf/systems/h100_dgx.yaml`.
  [[nodiscard]] std::string source() const;
  /// The first comment line, without its mark; empty if the file begins with something else.
  [[nodiscard]] std::string_view description() const;
  /// Whether it is the shape of a transformer, which `model:` names.
  [[nodiscard]] bool is_model() const;
};

/// The folder of a kind under configs/, which is also its name on the command line.
const char* name_of(ShelfKind kind);

/// All files of a kind, in alphabetical order of their names.
std::span<const ShelfFile> shelf(ShelfKind kind);

/// The file of a name, or null.
const ShelfFile* find_on_shelf(ShelfKind kind, std::string_view name);

/// Whether a `from:` names a file of the shelf: it then has neither a folder nor an ending.
bool is_shelf_name(std::string_view word);

/// "there is no 'x' ...", for a name that is not on the shelf, with the nearest that is.
std::string not_on_shelf(ShelfKind kind, std::string_view name);

/// The names of all models, in alphabetical order.
std::vector<std::string_view> model_names();

}  // namespace dfsearch
