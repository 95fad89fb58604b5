#pragma once
// The shelf: the files of configs/, part of the library as text, so that a command or a config may
// name them from any folder.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

/// Parts are parts of technologies, and only chips of the shelf name them.
enum class ShelfKind : std::uint8_t {
  Systems,
  Workloads,
  Efficiencies,
  Curves,
  Stacks,
  Engines,
  Families,
  Studies,
  Parts,
  Configs
};

struct ShelfFile {
  ShelfKind kind = ShelfKind::Systems;
  std::string_view name;  ///< of the file, without ending and the folder of its kind
  std::string_view text;  ///< YAML

  /// Path of a file in messages: `shelf:/systems/h100_dgx.yaml`.
  [[nodiscard]] std::string source() const;
  /// The first comment line, without its mark; empty if the file begins with something else.
  [[nodiscard]] std::string_view description() const;
  /// Whether it is a transformer that `model:` may name.
  [[nodiscard]] bool is_model() const;
};

/// The folder of a kind under configs/, which is also its name on the command line.
const char* name_of(ShelfKind kind);

/// All files of a kind, in alphabetical order of their names.
std::span<const ShelfFile> shelf(ShelfKind kind);

/// The file with this name, or null.
const ShelfFile* find_on_shelf(ShelfKind kind, std::string_view name);
/// The file with this source(), or null.
const ShelfFile* find_on_shelf(const std::filesystem::path& source);
bool is_on_shelf(const std::filesystem::path& path);

/// Whether a `from:` names a file of the shelf: such names have neither folder nor ending.
bool is_shelf_name(std::string_view word);

/// The file of the shelf that `configs/...` means if no file has that path, or null.
const ShelfFile* find_path_on_shelf(ShelfKind kind, const std::filesystem::path& base,
                                    std::string_view word);

/// A message on a name that is not on the shelf, with the nearest name that is.
std::string not_on_shelf(ShelfKind kind, std::string_view name);

/// The file that a word of a user means: one with this path, else a config or study of the shelf,
/// with or without folders and ending (`gpt3_1t`, `configs/gpt3_1t.yaml`), else a model of the
/// shelf.  Throws InputError, with the nearest names, for a word without a file, and for a name of
/// several files.
std::filesystem::path find_input(const std::string& word, ShelfKind kind);

/// The names of configs of the shelf whose workload is this model, in alphabetical order.
std::vector<std::string_view> configs_of_model(std::string_view model);

/// The names of all models, in alphabetical order.
std::vector<std::string_view> model_names();

}  // namespace dfsearch
