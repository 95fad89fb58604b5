// A static check of a family: keys, blocks, parameters, expressions and their names.

#include <algorithm>
#include <initializer_list>
#include <set>

#include "graph/workloads/blocks/block.hpp"
#include "io/huggingface/expression.hpp"
#include "io/huggingface/family_file.hpp"

namespace dfsearch {
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
        messages_.add(place, "", "there is no field " + in_quotes(tree.word) + " in this map");
      }
    }
    if (tree.op != Expression::Op::Name) return;
    static constexpr std::string_view kGiven[] = {"i", "model_type", "class", "mtp"};
    if (std::find(std::begin(kGiven), std::end(kGiven), tree.word) != std::end(kGiven)) return;
    if (const YamlNode* named = family_.find("let", tree.word)) {
      this->named(tree.word, *named);
    } else if (!family_.find("fields", tree.word)) {
      messages_.add(place, "",
                    "there is neither a field nor an expression " + in_quotes(tree.word));
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

  /// The fields of the map that an expression is, if it is one with fields of its own.
  const YamlNode* fields_of(const Expression& tree) {
    if (tree.op != Expression::Op::Name || open_.contains(tree.word)) return nullptr;
    if (const YamlNode* named = family_.find("let", tree.word)) {
      try {
        open_.insert(tree.word);
        const YamlNode* found = fields_of(parse_expression(named->scalar));
        open_.erase(tree.word);
        return found;
      } catch (const ExpressionError&) {
        return nullptr;  // reported where it stands
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
      const std::optional<BlockKind> kind = block_named(entry.key);
      if (!kind) {
        messages_.add(entry.place, "", "there is no block " + in_quotes(entry.key));
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

std::optional<BlockKind> block_named(std::string_view name) {
  for (const auto& word : words(BlockKind{})) {
    if (word.name == name) return word.value;
  }
  return std::nullopt;
}

void check_family(const Family& family, InputMessages& messages) {
  FamilyCheck(family, messages).run();
}

}  // namespace dfsearch
