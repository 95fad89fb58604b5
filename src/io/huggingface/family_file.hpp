#pragma once
// Families of models: files with the meaning of each field of a config.json and with the blocks of
// the model as expressions of the fields (docs/formats.md, "Families").

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/workloads/blocks/model_shape.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// A family, with the keys that it takes from other families by `like`.
struct Family {
  std::vector<std::string> types;  ///< values of `model_type`; the first one is its name
  YamlNode tree;

  /// The value of a key, or of the key `inner` of its map; null if it is not there.
  [[nodiscard]] const YamlNode* find(std::string_view key, std::string_view inner = {}) const;
  /// Whether the field changes neither sizes nor kernels.
  [[nodiscard]] bool ignores(std::string_view field) const;
};

/// Families of several files; constant once it is made.
class Families {
 public:
  struct File {
    std::string name, text;
  };
  /// Each file consists of YAML documents: families, or the key `ignore` alone, for all families.
  /// Families of later files replace earlier ones with the same name.  Throws InputError for
  /// invalid YAML, keys `like` that name no family, and cycles of them.
  explicit Families(const std::vector<File>& files);

  [[nodiscard]] const Family* find(std::string_view type) const;
  [[nodiscard]] const std::vector<Family>& all() const { return families_; }
  /// Throws InputError for unknown keys, blocks, parameters and names, wrong expressions, and named
  /// expressions that depend on themselves, in any family.
  void check() const;
  /// The family that knows most fields of a config, and the fields that it does not know.
  [[nodiscard]] std::pair<const Family*, std::vector<std::string>> nearest(
      const nlohmann::json& config) const;

 private:
  std::vector<Family> families_;
};

/// The families of the shelf and of the files of a folder; families of the folder replace families
/// of the shelf with equal names.  add_families() sets the folder once, before other
/// threads start, and checks its files.
const Families& known_families();
void add_families(const std::string& folder);

/// Whether a text fits a pattern, in which `*` stands for any text.
bool fits_pattern(std::string_view text, std::string_view pattern);

/// The text of a field of a map; empty if there is none.
std::string text_in(const nlohmann::json& map, std::string_view field);

/// The JSON value of a YAML node.
nlohmann::json json_of(const YamlNode& node);

/// Merges a family, or a key of one, into another: null removes a key, and lists `ignore` are
/// joined.
void merge_family(YamlNode& base, const YamlNode& over, std::string_view key = {});

/// Reports unknown keys, blocks, parameters and names, and wrong expressions, independent of a
/// config.
void check_family(const Family& family, InputMessages& messages);

/// The shape by the fields of a config.json, whose field `model_type` names the family.  Reports an
/// unknown type, with the family that knows most of its fields, unknown and missing fields, and
/// values that make no model.  The shape is valid only if nothing is reported.
ModelShape read_family(const Families& families, const nlohmann::json& config, const Place& place,
                       InputMessages& messages);

}  // namespace dfsearch
