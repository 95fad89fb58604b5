// Families are merged as trees, so that messages have the places of their files.

#include "io/huggingface/family_file.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>

#include "base/error.hpp"
#include "graph/workloads/blocks/block.hpp"
#include "io/config/shelf.hpp"
#include "io/huggingface/expression.hpp"
#include "io/text/files.hpp"

namespace dfsearch {
namespace {

/// Splits a file into documents; empty lines before each keep its line numbers.
std::vector<std::string> documents_of(const std::string& text) {
  std::vector<std::string> documents(1);
  std::string before;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(at, end - at);
    before += '\n';
    if (line == "---\n") {
      documents.push_back(before);
    } else {
      documents.back() += line;
    }
    at = end;
  }
  return documents;
}

bool is_blocks(std::string_view key) {
  return key == "mixer" || key == "mlp" || key == "cross" || key == "also";
}

}  // namespace

// At a mismatch, the last star takes one more character.
bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, tried = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++tried;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

nlohmann::json json_of(const YamlNode& node) {
  nlohmann::json value;
  switch (node.type) {
    case YamlNode::Type::Null:
      break;
    case YamlNode::Type::Scalar:
      value = nlohmann::json::parse(node.scalar, nullptr, false);
      if (value.is_discarded() || value.is_structured()) value = node.scalar;
      break;
    case YamlNode::Type::Sequence:
      value = nlohmann::json::array();
      for (const YamlNode& item : node.items) value.push_back(json_of(item));
      break;
    case YamlNode::Type::Map:
      value = nlohmann::json::object();
      for (const YamlEntry& entry : node.entries) value[entry.key] = json_of(entry.value);
      break;
  }
  return value;
}

void merge_family(YamlNode& base, const YamlNode& over, std::string_view key) {
  const bool are_maps = base.type == YamlNode::Type::Map && over.type == YamlNode::Type::Map;
  const bool has_others =
      is_blocks(key) && std::any_of(over.entries.begin(), over.entries.end(),
                                    [&](const YamlEntry& entry) { return !base.find(entry.key); });
  if (!are_maps || has_others || key == "heads") {
    base = over;
    return;
  }
  for (const YamlEntry& entry : over.entries) {
    YamlEntry* known = base.find(entry.key);
    const bool removes = entry.value.type == YamlNode::Type::Null && key != "fields";
    if (!known) {
      if (!removes) base.entries.push_back(entry);
    } else if (removes) {
      base.entries.erase(base.entries.begin() + (known - base.entries.data()));
    } else if (entry.key == "ignore") {
      known->value.items.insert(known->value.items.end(), entry.value.items.begin(),
                                entry.value.items.end());
    } else {
      merge_family(known->value, entry.value, entry.key);
    }
  }
}

const YamlNode* Family::find(std::string_view key, std::string_view inner) const {
  const YamlEntry* entry = tree.find(key);
  if (entry && !inner.empty()) entry = entry->value.find(inner);
  return entry ? &entry->value : nullptr;
}

bool Family::ignores(std::string_view field) const {
  const YamlNode* patterns = find("ignore");
  return patterns &&
         std::any_of(patterns->items.begin(), patterns->items.end(),
                     [&](const YamlNode& item) { return fits_pattern(field, item.scalar); });
}

Families::Families(const std::vector<File>& files) {
  InputMessages messages;
  std::map<std::string, YamlNode, std::less<>> own;  // by the first type
  std::map<std::string, std::string, std::less<>> first_of;
  YamlNode common;
  for (const File& file : files) {
    for (const std::string& text : documents_of(file.text)) {
      YamlNode tree = parse_yaml(text, file.name, true);
      const YamlEntry* types = tree.find("types");
      if (!types && tree.find("ignore")) {
        common = std::move(tree);
      } else if (!types || types->value.items.empty()) {
        messages.add(tree.place, "", "expected a family with a list 'types'");
      } else {
        const std::string name = types->value.items[0].scalar;
        for (const YamlNode& type : types->value.items) first_of[type.scalar] = name;
        own[name] = std::move(tree);
      }
    }
  }
  std::map<std::string, YamlNode, std::less<>> whole;
  std::set<std::string, std::less<>> open;
  const auto complete = [&](const auto& self, const std::string& name) -> const YamlNode& {
    if (const auto done = whole.find(name); done != whole.end()) return done->second;
    const YamlNode& tree = own.at(name);
    const YamlEntry* like = tree.find("like");
    YamlNode base = common;
    if (like) {
      const auto parent = first_of.find(like->value.scalar);
      if (parent == first_of.end() || !open.insert(name).second) {
        messages.add(like->place, "like",
                     parent == first_of.end() ? "unknown family " + in_quotes(like->value.scalar)
                                              : "'like' leads from a family back to itself");
        return common;
      }
      base = self(self, parent->second);
      open.erase(name);
    }
    std::erase_if(base.entries, [](const YamlEntry& entry) {
      return entry.key == "types" || entry.key == "classes";
    });
    // A field that the family defines itself is not renamed.
    YamlEntry* renames = base.find("rename");
    const YamlEntry* fields = tree.find("fields");
    if (renames && fields) {
      std::erase_if(renames->value.entries, [&](const YamlEntry& rename) {
        return fields->value.find(rename.key) != nullptr;
      });
    }
    if (base.type == YamlNode::Type::Null) base.type = YamlNode::Type::Map;
    merge_family(base, tree);
    return whole[name] = std::move(base);
  };
  for (const auto& [name, tree] : own) {
    Family family{.types = {}, .tree = complete(complete, name)};
    for (const YamlNode& type : tree.find("types")->value.items) {
      if (first_of[type.scalar] == name) family.types.push_back(type.scalar);
    }
    families_.push_back(std::move(family));
  }
  messages.throw_if_any();
}

const Family* Families::find(std::string_view type) const {
  for (const Family& family : families_) {
    if (std::find(family.types.begin(), family.types.end(), type) != family.types.end())
      return &family;
  }
  return nullptr;
}

namespace {

std::string& folder_of_families() {
  static std::string folder;
  return folder;
}

}  // namespace

const Families& known_families() {
  static const Families kFamilies = [] {
    std::vector<Families::File> files;
    for (const ShelfFile& file : shelf(ShelfKind::Families)) {
      files.push_back({file.source(), std::string(file.text)});
    }
    if (folder_of_families().empty()) return Families(files);
    std::set<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_of_families())) {
      if (entry.path().extension() == ".yaml") paths.insert(entry.path());
    }
    for (const std::filesystem::path& path : paths)
      files.push_back({path.string(), read_file(path)});
    Families families(files);
    families.check();
    return families;
  }();
  return kFamilies;
}

void add_families(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw InputError("--families: there is no folder " + in_quotes(folder));
  }
  folder_of_families() = folder;
}

void Families::check() const {
  InputMessages messages;
  for (const Family& family : families_) check_family(family, messages);
  messages.throw_if_any();
}

std::pair<const Family*, std::vector<std::string>> Families::nearest(
    const nlohmann::json& config) const {
  std::pair<const Family*, std::vector<std::string>> best;
  std::int64_t most = 0;
  for (const Family& family : families_) {
    if (family.ignores("*")) continue;  // it would ignore every unknown field
    std::vector<std::string> unknown;
    std::size_t known = 0;
    for (const auto& item : config.items()) {
      if (family.find("fields", item.key()) || family.find("rename", item.key())) {
        ++known;
      } else if (!family.ignores(item.key())) {
        unknown.push_back(item.key());
      }
    }
    const auto score = static_cast<std::int64_t>(known) - static_cast<std::int64_t>(unknown.size());
    if (best.first && score <= most) continue;
    best = {&family, std::move(unknown)};
    most = score;
  }
  return best;
}

// A static check of a family: keys, blocks, parameters, expressions and their names.

namespace {

class FamilyCheck {
 public:
  FamilyCheck(const Family& family, InputMessages& messages)
      : family_(family), messages_(messages) {}

  void run() {
    keys(family_.tree, {"types", "classes", "like", "fields", "rename", "ignore", "refuse", "let",
                        "model", "layers", "mtp", "stacks", "text", "heads", "note"});
    if (const YamlNode* let = family_.find("let")) {
      for (const YamlEntry& entry : let->entries) named(entry.key, entry.value);
    }
    if (const YamlNode* refuse = family_.find("refuse")) {
      for (const YamlNode& item : refuse->items) {
        keys(item, {"if", "say"});
        if (const YamlEntry* condition = item.find("if")) expression(condition->value);
      }
    }
    stack(family_.tree);
    if (const YamlNode* mtp = family_.find("mtp")) {
      keys(*mtp, {"count", "layer", "advance", "layers", "linears", "extra"});
      for (const YamlEntry& entry : mtp->entries) {
        entry.key == "layers" ? layers(entry.value) : expression(entry.value);
      }
    }
    if (const YamlNode* stacks = family_.find("stacks")) {
      for (const YamlEntry& entry : stacks->entries) {
        keys(entry.value, {"if", "model", "layers"});
        if (const YamlEntry* condition = entry.value.find("if")) expression(condition->value);
        stack(entry.value);
      }
    }
    if (const YamlNode* text = family_.find("text")) {
      keys(*text, {"field", "type", "beside", "set", "flat"});
    }
    if (const YamlNode* heads = family_.find("heads")) {
      for (const YamlEntry& entry : heads->entries) {
        keys(entry.value, {"lm", "bias", "linears", "extra"});
        expressions(&entry.value);
      }
    }
  }

 private:
  void keys(const YamlNode& map, std::initializer_list<std::string_view> known) {
    for (const YamlEntry& entry : map.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      messages_.add(entry.place, "",
                    "unknown key " + in_quotes(entry.key) +
                        suggestion(entry.key, std::span(known.begin(), known.size())));
    }
  }

  void expressions(const YamlNode* map) {
    if (!map) return;
    for (const YamlEntry& entry : map->entries) expression(entry.value);
  }

  void expression(const YamlNode& node) {
    if (node.type == YamlNode::Type::Null) return;
    if (node.type != YamlNode::Type::Scalar) {
      messages_.add(node.place, "", "expected an expression, got " + node.description());
      return;
    }
    try {
      names(parse_expression(node.scalar), node.place);
    } catch (const ExpressionError& error) {
      messages_.add(node.place, "", error.what());
    }
  }

  void names(const Expression& tree, const Place& place) {
    for (const Expression& part : tree.parts) names(part, place);
    if (tree.op == Expression::Op::Key) {
      const YamlNode* fields = fields_of(tree.parts[0]);
      if (fields && !fields->find(tree.word)) {
        messages_.add(place, "", "unknown field " + in_quotes(tree.word) + " in this map");
      }
    }
    if (tree.op != Expression::Op::Name) return;
    static constexpr std::string_view kGiven[] = {"i", "model_type", "class", "mtp"};
    if (std::find(std::begin(kGiven), std::end(kGiven), tree.word) != std::end(kGiven)) return;
    if (const YamlNode* named = family_.find("let", tree.word)) {
      this->named(tree.word, *named);
    } else if (!family_.find("fields", tree.word)) {
      messages_.add(place, "", "unknown field or expression " + in_quotes(tree.word));
    }
  }

  void named(const std::string& name, const YamlNode& node) {
    if (open_.contains(name)) {
      messages_.add(node.place, name, "the expression depends on itself");
    } else if (done_.insert(name).second) {
      open_.insert(name);
      expression(node);
      open_.erase(name);
    }
  }

  /// The fields of the map that an expression names; null if it names none.
  const YamlNode* fields_of(const Expression& tree) {
    if (tree.op != Expression::Op::Name || open_.contains(tree.word)) return nullptr;
    if (const YamlNode* named = family_.find("let", tree.word)) {
      try {
        open_.insert(tree.word);
        const YamlNode* found = fields_of(parse_expression(named->scalar));
        open_.erase(tree.word);
        return found;
      } catch (const ExpressionError&) {
        return nullptr;  // reported when the expression itself is checked
      }
    }
    const YamlNode* field = family_.find("fields", tree.word);
    return field && field->type == YamlNode::Type::Map ? field : nullptr;
  }

  void stack(const YamlNode& map) {
    if (const YamlEntry* model = map.find("model")) {
      keys(model->value, {"hidden", "vocab", "tied", "norm", "embed", "positions", "position_width",
                          "types", "tables", "embed_norm", "final_norm", "head", "head_bias",
                          "linears", "extra", "sequence", "dropout"});
      expressions(&model->value);
    }
    if (const YamlEntry* list = map.find("layers")) layers(list->value);
  }

  void layers(const YamlNode& map) {
    keys(map, {"count", "norms", "extra", "owns", "mixer", "cross", "mlp", "also"});
    for (const YamlEntry& entry : map.entries) {
      if (entry.value.type == YamlNode::Type::Scalar) {
        expression(entry.value);
      } else if (entry.value.type == YamlNode::Type::Sequence) {
        for (const YamlNode& item : entry.value.items) blocks(item);
      } else {
        blocks(entry.value);
      }
    }
  }

  void blocks(const YamlNode& map) {
    for (const YamlEntry& entry : map.entries) {
      if (entry.key == "if") {
        expression(entry.value);
        continue;
      }
      const auto kind = value_named<BlockKind>(entry.key);
      if (!kind) {
        messages_.add(entry.place, "", "unknown block " + in_quotes(entry.key));
        continue;
      }
      parameters(entry.value, *kind, "");
    }
  }

  void parameters(const YamlNode& map, BlockKind kind, const std::string& prefix) {
    const auto rows = parameters_of(kind);
    for (const YamlEntry& entry : map.entries) {
      const std::string name = prefix + entry.key;
      if (entry.value.type == YamlNode::Type::Map) {
        parameters(entry.value, kind, name + ".");
        continue;
      }
      const bool is_known = std::any_of(rows.begin(), rows.end(), [&](const BlockParameter& row) {
        return row.name == name || row.name.starts_with(name + ".");
      });
      if (!is_known && name != "linears" && name != "extra") {
        messages_.add(
            entry.place, "",
            "the block " + std::string(name_of(kind)) + " has no parameter " + in_quotes(name));
      }
      expression(entry.value);
    }
    for (const BlockParameter& row : rows) {
      if (!prefix.empty() || !row.required || map.find(row.name)) continue;
      messages_.add(map.place, "",
                    "the block " + std::string(name_of(kind)) + " needs the parameter " +
                        in_quotes(row.name));
    }
  }

  const Family& family_;
  InputMessages& messages_;
  std::set<std::string, std::less<>> open_, done_;
};

}  // namespace

void check_family(const Family& family, InputMessages& messages) {
  FamilyCheck(family, messages).run();
}

}  // namespace dfsearch
