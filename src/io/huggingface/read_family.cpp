// Fields are read first, with their defaults and aliases; then expressions give the blocks of each
// layer, and equal layers share a kind.

#include "io/huggingface/family_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/counts.hpp"
#include "io/huggingface/expression.hpp"
#include "schema/types.hpp"

namespace dfsearch {
namespace {

using Value = nlohmann::json;

// The product of two parameters fits into 64 bits.
constexpr std::int64_t kMostOfParameter = std::int64_t{1} << 30;
constexpr std::int64_t kMostOfExtra = std::int64_t{1} << 53;
constexpr std::int64_t kMostOfLayers = 10'000;

const Value* member(const Value& map, std::string_view key) {
  const auto found = map.is_object() ? map.find(key) : map.end();
  return found == map.end() ? nullptr : &*found;
}

class FamilyReader {
 public:
  FamilyReader(const Families& families, const Family& family, const Place& place,
               InputMessages& messages)
      : families_(families), family_(family), place_(place), messages_(messages) {}
  FamilyReader(const FamilyReader&) = delete;  // names_ refers to this
  FamilyReader& operator=(const FamilyReader&) = delete;

  ModelShape read(const Value& config, const std::string& type, const std::string& architecture) {
    const std::size_t before = messages_.count();
    type_ = type;
    architecture_ = architecture;
    if (const YamlNode* fields = family_.find("fields")) fields_ = read_fields(config, *fields, "");
    ModelShape shape;
    if (family_.find("text")) shape = read_text(config);
    if (messages_.count() > before) return shape;
    try {
      refuse();
      if (family_.find("model")) read_main(shape);
      if (const YamlNode* stacks = family_.find("stacks")) {
        for (const YamlEntry& entry : stacks->entries) {
          const YamlEntry* condition = entry.value.find("if");
          if (condition && !is_true(value_of(condition->value))) continue;
          shape.stacks.push_back(read_stack(entry.value, entry.key));
        }
      }
    } catch (const ExpressionError& error) {
      messages_.add(place_, "", error.what());
    }
    return shape;
  }

 private:
  // Fields.

  Value read_fields(const Value& given, const YamlNode& fields, const std::string& prefix) {
    Value read = Value::object();
    const bool is_inside = prefix.empty() && is_flat(given);  // the inner family reads all fields
    const YamlEntry* inner_ignore = fields.find("_ignore");
    Family inner;  // has the patterns `_ignore` of the map
    if (inner_ignore) inner.tree.entries.push_back({"ignore", {}, inner_ignore->value});
    for (const auto& item : given.items()) {
      const YamlNode* other = prefix.empty() ? family_.find("rename", item.key()) : nullptr;
      const std::string name = other ? other->scalar : item.key();
      const YamlEntry* field = name.starts_with("_ignore") ? nullptr : fields.find(name);
      if (field) {
        if (other && given.contains(name)) continue;
        read[name] = read_field(item.value(), field->value, prefix + name);
      } else if (!is_inside && !family_.ignores(name) && !family_.ignores(item.key()) &&
                 !inner.ignores(item.key())) {
        std::vector<std::string_view> known;
        for (const YamlEntry& row : fields.entries) {
          if (!row.key.starts_with("_")) known.push_back(row.key);
        }
        messages_.add(
            place_, "",
            fmt::format("the field {} of a model of type {} is not known; remove it if "
                        "it does not change the model{}",
                        in_quotes(prefix + item.key()), type_, suggestion(item.key(), known)));
      }
    }
    for (const YamlEntry& field : fields.entries) {
      if (field.key.starts_with("_") && (field.key == "_ignore" || field.key == "_optional")) {
        continue;
      }
      if (read.contains(field.key)) continue;
      if (field.value.scalar == "!") {
        messages_.add(place_, "", "missing field " + in_quotes(prefix + field.key));
      }
      const bool is_map = field.value.type == YamlNode::Type::Map;
      read[field.key] = is_map ? read_fields(Value::object(), field.value, prefix + field.key + ".")
                               : json_of(field.value);
    }
    return read;
  }

  Value read_field(const Value& given, const YamlNode& field, const std::string& name) {
    if (field.type == YamlNode::Type::Map) {
      if (given.is_null() && field.find("_optional")) return {};
      if (!given.is_null() && !given.is_object()) {
        messages_.add(place_, name, "expected a map");
        return {};
      }
      return read_fields(given.is_null() ? Value::object() : given, field, name + ".");
    }
    if (given.is_number_integer()) {
      // -1 stands for the last layer in some families.
      const bool fits = given.is_number_unsigned() ? given.get<std::uint64_t>() <=
                                                         static_cast<std::uint64_t>(kLargestCount)
                                                   : given.get<std::int64_t>() >= -1;
      if (!fits)
        messages_.add(place_, name, "expected a whole number up to 2^40, got " + given.dump());
    } else if (json_of(field).is_number_integer() && !given.is_null() && !given.is_array()) {
      messages_.add(place_, name, "expected a whole number, got " + in_quotes(given.dump()));
    }
    return given;
  }

  void refuse() {
    const YamlNode* refusals = family_.find("refuse");
    if (!refusals) return;
    for (const YamlNode& item : refusals->items) {
      if (is_true(value_of(item.find("if")->value))) {
        messages_.add(place_, "",
                      fmt::format("models of type {} with {} are not supported: {}", type_,
                                  item.find("if")->value.scalar, item.find("say")->value.scalar));
      }
    }
  }

  // The inner family.

  /// Returns whether the config has the fields of the inner family among its own.
  bool is_flat(const Value& config) {
    const Value* inner = family_.find("text", "flat")
                             ? member(config, family_.find("text", "field")->scalar)
                             : &config;
    return !inner || !inner->is_object();
  }

  ModelShape read_text(const Value& config) {
    const YamlNode& text = *family_.find("text");
    const std::string field = text.find("field")->value.scalar;
    const YamlEntry* type = text.find("type");
    const Value* found = member(config, field);
    const bool is_flat = this->is_flat(config);
    Value inner = found && found->is_object() ? *found : (is_flat ? config : Value::object());
    const std::string given = is_flat ? "" : text_in(inner, "model_type");
    const std::string inner_type = given.empty() && type ? type->value.scalar : given;
    if (const YamlEntry* beside = text.find("beside")) {
      for (const YamlNode& name : beside->value.items) {
        const Value* outer = member(config, name.scalar);
        if (outer && !inner.contains(name.scalar)) inner[name.scalar] = *outer;
      }
    }
    if (const YamlEntry* set = text.find("set")) {
      for (const YamlEntry& entry : set->value.entries) inner[entry.key] = json_of(entry.value);
    }
    const Family* family = families_.find(inner_type);
    if (!family) {
      messages_.add(place_, field + ".model_type", "unknown family " + in_quotes(inner_type));
      return {};
    }
    return FamilyReader(families_, *family, place_, messages_)
        .read(inner, inner_type, architecture_);
  }

  // Expressions.

  Value named(std::string_view name) {
    if (name == "i") return layer_;
    if (name == "mtp") return is_prediction_;
    if (name == "model_type") return type_;
    if (name == "class") return architecture_;
    if (const YamlNode* expression = family_.find("let", name)) return value_of(*expression);
    return fields_.at(std::string(name));
  }

  Value value_of(const YamlNode& node) {
    if (node.type == YamlNode::Type::Null) return {};
    auto found = parsed_.find(node.scalar);
    if (found == parsed_.end()) {
      found = parsed_.emplace(node.scalar, parse_expression(node.scalar)).first;
    }
    try {
      return evaluate(found->second, names_);
    } catch (const ExpressionError& error) {
      if (std::string_view(error.what()).find(" (") != std::string_view::npos) throw;
      throw ExpressionError(
          fmt::format("{} ({} in {})", error.what(), in_quotes(node.scalar), node.place.to_text()));
    }
  }

  /// A whole number; `otherwise` where the map has no such key or the value is null.
  std::int64_t count(const YamlNode* map, std::string_view key, std::int64_t otherwise,
                     std::int64_t most = kLargestCount) {
    const YamlEntry* entry = map ? map->find(key) : nullptr;
    const Value value = entry ? value_of(entry->value) : Value();
    return value.is_null() ? otherwise : count_of(value, entry->value, most);
  }

  std::int64_t count_of(const Value& value, const YamlNode& node, std::int64_t most) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    const bool fits = value.is_number_integer() && value >= 0 && value <= most;
    if (fits) return value.get<std::int64_t>();
    throw ExpressionError(fmt::format("expected a whole number from 0 to {}, got {} ({} in {})",
                                      most, in_quotes(value.dump()), in_quotes(node.scalar),
                                      node.place.to_text()));
  }

  bool flag(const YamlNode* map, std::string_view key, bool otherwise) {
    const YamlEntry* entry = map ? map->find(key) : nullptr;
    return entry ? is_true(value_of(entry->value)) : otherwise;
  }

  std::vector<Linear> linears(const YamlNode* map) {
    std::vector<Linear> list;
    const YamlEntry* entry = map ? map->find("linears") : nullptr;
    if (!entry) return list;
    for (const Value& item : value_of(entry->value)) {
      const auto part = [&](std::size_t index, std::int64_t otherwise, std::int64_t most) {
        return index < item.size() ? count_of(item[index], entry->value, most) : otherwise;
      };
      list.push_back({part(0, 0, kLargestCount), part(1, 0, kLargestCount),
                      item.size() > 2 && is_true(item[2]), part(3, 1, kMostOfParameter),
                      part(4, 1, kMostOfParameter)});
      if (item.size() == 4) list.back().used = list.back().copies;
    }
    return list;
  }

  // Blocks, layers, stacks.

  Block read_block(BlockKind kind, const YamlNode& map) {
    Block block{.kind = kind};
    for (const BlockParameter& row : parameters_of(kind)) {
      const std::size_t dot = row.name.find('.');
      const YamlEntry* entry = map.find(row.name.substr(0, dot));
      if (entry && dot != row.name.npos) entry = entry->value.find(row.name.substr(dot + 1));
      const Value value = entry ? value_of(entry->value) : Value();
      std::int64_t& number = block.*row.member;
      number = row.as ? block.*row.as : row.preset;
      if (value.is_string()) {
        const auto word = std::find(row.words.begin(), row.words.end(), value.get<std::string>());
        if (word == row.words.end()) count_of(value, entry->value, kMostOfParameter);
        number = word - row.words.begin();
      } else if (!value.is_null()) {
        number = count_of(value, entry->value, kMostOfParameter);
      }
      if (row.required && number == 0) {
        throw ExpressionError(fmt::format("the parameter {} of the block {} is missing or 0",
                                          in_quotes(row.name), name_of(kind)));
      }
    }
    block.linears = linears(&map);
    block.extra = count(&map, "extra", 0, kMostOfExtra);
    return block;
  }

  void add_blocks(const YamlNode& map, std::vector<Block>& blocks) {
    for (const YamlEntry& entry : map.entries) {
      if (entry.key != "if")
        blocks.push_back(read_block(*value_named<BlockKind>(entry.key), entry.value));
    }
  }

  LayerKind read_layer(const YamlNode& map, std::int64_t index) {
    layer_ = index;
    LayerKind layer{.blocks = {},
                    .norms = count(&map, "norms", 2, 16),
                    .vectors = count(&map, "extra", 0, kMostOfExtra),
                    .owns = flag(&map, "owns", true)};
    for (const std::string_view key : {"mixer", "cross", "mlp", "also"}) {
      const YamlEntry* entry = map.find(key);
      if (!entry) continue;
      if (entry->value.type == YamlNode::Type::Map) add_blocks(entry->value, layer.blocks);
      for (const YamlNode& item : entry->value.items) {
        const YamlEntry* condition = item.find("if");
        if (condition && !is_true(value_of(condition->value))) continue;
        add_blocks(item, layer.blocks);
        break;
      }
    }
    return layer;
  }

  void add_layer(Stack& stack, LayerKind layer) {
    auto kind = std::find(stack.kinds.begin(), stack.kinds.end(), layer);
    if (kind == stack.kinds.end()) kind = stack.kinds.insert(kind, std::move(layer));
    stack.layers.push_back(static_cast<std::uint16_t>(kind - stack.kinds.begin()));
  }

  /// Elements of the weights of a norm.
  std::int64_t norm_of(const YamlNode* model, std::int64_t width) {
    const YamlEntry* entry = model ? model->find("norm") : nullptr;
    const Value norm = entry ? value_of(entry->value) : Value();
    return norm == "layer" ? 2 * width : norm == "none" ? 0 : width;  // rms, scale
  }

  /// The keys of the head for the class of the model.
  const YamlNode* head_of_class() {
    const YamlNode* heads = family_.find("heads");
    if (!heads) return nullptr;
    for (const YamlEntry& entry : heads->entries) {
      if (fits_pattern(architecture_, entry.key)) return &entry.value;
    }
    return nullptr;
  }

  Stack read_stack(const YamlNode& map, const std::string& name) {
    const YamlEntry* entry = map.find("model");
    const YamlNode* model = entry ? &entry->value : nullptr;
    Stack stack{.name = name, .hidden = count(model, "hidden", 0, kMostOfParameter)};
    if (stack.hidden == 0) throw ExpressionError("the width of the model is missing or 0");
    stack.norm = norm_of(model, stack.hidden);
    stack.vocabulary = count(model, "vocab", 0, kMostOfParameter);
    stack.embedding = count(model, "embed", stack.hidden, kMostOfParameter);
    stack.tied = flag(model, "tied", false);
    stack.has_head = flag(model, "head", stack.vocabulary > 0);
    stack.linears = linears(model);
    std::int64_t biases = count(model, "head_bias", 0, 2);
    std::int64_t extra = count(model, "extra", 0, kMostOfExtra);
    if (const YamlNode* head = name == "text" ? head_of_class() : nullptr) {
      stack.has_head = flag(head, "lm", stack.has_head);
      biases = count(head, "bias", biases, 2);
      extra += count(head, "extra", 0, kMostOfExtra);
      for (const Linear& linear : linears(head)) stack.linears.push_back(linear);
    }
    stack.positions = count(model, "positions", 0, kMostOfParameter);
    stack.position_width = count(model, "position_width", stack.hidden, kMostOfParameter);
    stack.dropout = flag(model, "dropout", false);
    stack.tables = number(count(model, "tables", 0, kMostOfExtra));
    const std::int64_t norms = count(model, "embed_norm", 0, 8) + count(model, "final_norm", 1, 8);
    stack.vectors = number(norms) * number(stack.norm) + number(extra) +
                    number(count(model, "types", 0)) * number(stack.hidden) +
                    (stack.has_head ? number(biases) * number(stack.vocabulary) : 0.0);
    const YamlNode& layers = map.find("layers")->value;
    const std::int64_t length = count(&layers, "count", 0, kMostOfLayers);
    if (name == "text") {
      const std::int64_t modules = count(family_.find("mtp"), "count", 0, kMostOfLayers);
      names_.layers = {static_cast<std::size_t>(length),
                       static_cast<std::size_t>(length + modules)};
    }
    for (std::int64_t i = 0; i < length; ++i) add_layer(stack, read_layer(layers, i));
    names_.layers.reset();
    return stack;
  }

  void read_main(ModelShape& shape) {
    shape.stacks.push_back(read_stack(family_.tree, "text"));
    const YamlNode* model = family_.find("model");
    const std::int64_t positions = shape.stacks[0].positions;
    const Value* longest = member(fields_, "max_position_embeddings");
    const std::int64_t known =
        longest && longest->is_number_integer() ? longest->get<std::int64_t>() : 2048;
    shape.sequence =
        std::max<std::int64_t>(1, count(model, "sequence", positions > 0 ? positions : known));
    const YamlNode* mtp = family_.find("mtp");
    const std::int64_t modules = count(mtp, "count", 0, kMostOfLayers);
    if (modules == 0) return;
    Stack& stack = shape.prediction;
    stack.name = "mtp";
    stack.hidden = shape.stacks[0].hidden;
    stack.norm = shape.stacks[0].norm;
    YamlNode layers = family_.tree.find("layers")->value;
    if (const YamlEntry* over = mtp->find("layers")) merge_family(layers, over->value, "layers");
    const auto first = static_cast<std::int64_t>(shape.stacks[0].layers.size());
    is_prediction_ = true;
    for (std::int64_t module = 0; module < modules; ++module) {
      const std::int64_t at = count(mtp, "layer", first);
      add_layer(stack, read_layer(layers, at + (flag(mtp, "advance", true) ? module : 0)));
      for (const Linear& linear : linears(mtp)) stack.linears.push_back(linear);
      stack.vectors += number(count(mtp, "extra", 0, kMostOfExtra));
    }
    is_prediction_ = false;
  }

  const Families& families_;
  const Family& family_;
  const Place& place_;
  InputMessages& messages_;
  std::string type_, architecture_;
  Value fields_ = Value::object();
  std::map<std::string, Expression> parsed_;
  NameScope names_{.value_of = [this](std::string_view name) { return named(name); },
                   .field_of =
                       [this](std::string_view name) {
                         return family_.find("let", name) ? nullptr : member(fields_, name);
                       }};
  std::int64_t layer_ = 0;
  bool is_prediction_ = false;
};

}  // namespace

std::string text_in(const Value& map, std::string_view field) {
  const Value* value = member(map, field);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

ModelShape read_family(const Families& families, const Value& config, const Place& place,
                       InputMessages& messages) {
  const std::string type = text_in(config, "model_type");
  const Family* family = families.find(type);
  if (!family) {
    const auto [nearest, unknown] = families.nearest(config);
    std::vector<std::string> names;
    for (const std::string& name : unknown) names.push_back(in_quotes(name));
    messages.add(
        place, "model_type",
        fmt::format(
            "{} are not known; by its fields it is nearest to {}, which {}; to add "
            "the type, put a file with 'types' and 'like: {}' into the folder of --families",
            type.empty() ? "models without a type" : "models of type " + in_quotes(type),
            nearest->types[0],
            names.empty() ? "has all of these fields"
                          : fmt::format("does not have {}", fmt::join(names, ", ")),
            nearest->types[0]));
    return {};
  }
  const Value* classes = member(config, "architectures");
  const bool has_class =
      classes && classes->is_array() && !classes->empty() && (*classes)[0].is_string();
  const std::string architecture = has_class ? (*classes)[0].get<std::string>() : "";
  return FamilyReader(families, *family, place, messages).read(config, type, architecture);
}

}  // namespace dfsearch
