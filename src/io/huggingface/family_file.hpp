#pragma once
// Families of models: files that give the meaning of each field of a config.json, and the blocks
// that a model has by them (docs/formats.md, "Families").

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/workloads/blocks/model_shape.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// A family with the keys that it takes from others.
struct Family {
  std::vector<std::string> types;  ///< values of `model_type`; the first one is its name
  YamlNode tree;

  /// The value of a key, or of a key of a key; null if it is not there.
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
  /// Families of later files replace earlier ones with the same name.  Throws InputError for wrong
  /// YAML, keys `like` without a family, and cycles of them.
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

/// The families of the shelf, and of the files of a folder that takes their place where names are
/// equal.  The folder is set once, before other threads start; its files are checked.
const Families& known_families();
void add_families(const std::string& folder);

/// Whether a text fits a pattern, in which `*` stands for any text.
bool fits_pattern(std::string_view text, std::string_view pattern);

/// The text of a field of a map; empty if there is none.
std::string text_in(const nlohmann::json& map, std::string_view field);

/// A value of a config as a YAML file has it.
nlohmann::json json_of(const YamlNode& node);

/// Lays a family, or keys of one, upon another.
void merge_family(YamlNode& base, const YamlNode& over, std::string_view key = {});

/// Reports unknown keys, blocks, parameters and names, and wrong expressions, whatever config the
/// family will read.
void check_family(const Family& family, InputMessages& messages);

/// The shape by the fields of a config.json, whose field `model_type` names the family.  Reports a
/// type that is not known, with the family that knows most of its fields, all fields that a family
/// does not know, missing ones, and values that make no model.  The shape holds only without
/// messages.
ModelShape read_family(const Families& families, const nlohmann::json& config, const Place& place,
                       InputMessages& messages);

}  // namespace dfsearch
