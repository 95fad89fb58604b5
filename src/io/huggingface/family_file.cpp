// Families are merged as trees, so that messages have the places of their files.

#include "io/huggingface/family_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "io/config/shelf.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
namespace {

/// Splits a file into documents; empty lines before each keep the numbers of its lines.
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

// Goes back to the last star where the rest differs.
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
                     parent == first_of.end()
                         ? "there is no family " + in_quotes(like->value.scalar)
                         : "a family is like itself");
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
    if (family.ignores("*")) continue;  // of any field
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

}  // namespace dfsearch
