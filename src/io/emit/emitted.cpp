// Each language has one function here that quotes text.

#include "io/emit/emitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/serving/task.hpp"
#include "model/stack/stack.hpp"
#include "model/training/decisions.hpp"
#include "schema/types.hpp"

namespace dfsearch {

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:,+").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string quoted = "'";
  for (const char c : escaped(text)) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string toml_string(const std::string& text) { return json_string(text); }

std::vector<std::string> Argument::words() const {
  std::vector<std::string> all;
  for (std::istringstream text(flags); text >> all.emplace_back();) {
  }
  all.pop_back();
  if (value) all.push_back(*value);
  return all;
}

std::string comments(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "# " + escaped(line) + "\n";
  return text;
}

std::string command_text(const std::string& command, const Emitted& emitted) {
  std::string text = comments(emitted.comments()) + command;
  for (const Argument& argument : emitted.arguments) text += " \\\n  " + argument.text();
  return text + "\n";
}

// Rows of the values from a fixed set.  A row has only the last keys of a path, as plans and
// deployments occur in several places of a result.

namespace {

/// The keys from the result to a value; elements of lists have their index.
using KeyPath = std::vector<std::string>;
using KnownWords = std::vector<std::string_view>;

/// The last keys of a path, where `*` is any key; the row is for strings only.
struct WordRow {
  std::vector<std::string_view> end;
  KnownWords known;
};
const std::vector<WordRow>& word_rows() {
  static const std::vector<WordRow> kRows = [] {
    std::vector<WordRow> rows = {{{"workload", "precision"}, all_names<stack::Precision>()},
                                 {{"precision", "*"}, all_names<serving::Number>()},
                                 {{"framework", "name"}, all_names<Framework>()},
                                 {{"best", "mode"}, all_names<serving::Mode>()},
                                 {{"deployment", "mode"}, all_names<serving::Mode>()},
                                 {{"exchanges", "*", "role"}, all_names<training::Role>()},
                                 {{"exchanges", "*", "exchange"},
                                  {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"}},
                                 {{"exchanges", "*", "pass"}, {"forward", "backward"}}};
    for (const training::Decision& decision : training::decisions()) {
      const Type& type = *decision.taken.type;
      if (!type.choices) continue;
      KnownWords known;
      for (const Choice& choice : type.choices()) known.emplace_back(choice.name);
      rows.push_back({{"plan", decision.given.key, "*"}, known});
      if (type.form == Form::Choice) rows.push_back({{"plan", decision.given.key}, known});
    }
    return rows;
  }();
  return kRows;
}

struct CountRow {
  std::vector<std::string_view> end;
  std::int64_t least = 1, most = kLargestCount;
};
const std::vector<CountRow>& count_rows() {
  static const std::vector<CountRow> kRows = [] {
    std::vector<CountRow> rows = {{{"parallelism", "*"}},
                                  {{"micro_batch"}},
                                  {{"micro_batches"}},
                                  {{"plan", "layers", "*"}, 0},
                                  {{"workload", "global_batch"}},
                                  {{"workload", "sequence"}},
                                  {{"requests", "*", "input"}},
                                  {{"requests", "*", "output"}},
                                  {{"requests", "*", "prefix"}, 0},
                                  {{"machine", "chips"}},
                                  {{"machine", "network", "*", "degree"}},
                                  {{"parts", "*", "count"}, 0},
                                  {{"work", "full_attention_every"}}};
    for (const training::Decision& decision : training::decisions()) {
      if (decision.taken.type->form != Form::Count) continue;
      CountRow& row = rows.emplace_back(CountRow{{"plan", decision.given.key}});
      const Interval& limits = decision.given.limits;
      if (!limits.given()) continue;
      row.least = static_cast<std::int64_t>(limits.least);
      row.most = static_cast<std::int64_t>(limits.most);
    }
    for (const auto& role : words(training::Role{})) rows.push_back({{"network", "*", role.name}});
    for (const char* part : {"best", "deployment", "prefill", "decode"}) {
      for (const char* key :
           {"tensor", "pipeline", "attention_data", "expert", "replicas", "batch"}) {
        rows.push_back({{part, key}});
      }
      for (const char* key : {"chunk", "depth", "redundant_experts", "sub_batches"})
        rows.push_back({{part, key}, 0});
    }
    return rows;
  }();
  return kRows;
}

bool ends_in(const KeyPath& way, const std::vector<std::string_view>& end) {
  return way.size() >= end.size() && std::equal(end.rbegin(), end.rend(), way.rbegin(),
                                                [](std::string_view key, const std::string& own) {
                                                  return key == "*" || key == own;
                                                });
}

/// The fault of a value; empty for none.
std::string mistake_in(const Json& value, const KeyPath& way) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    for (const WordRow& row : word_rows()) {
      if (!ends_in(way, row.end)) continue;
      if (std::find(row.known.begin(), row.known.end(), text) != row.known.end()) return "";
      const std::vector<std::string_view> names(row.known.begin(), row.known.end());
      return fmt::format("expected {}, got {}", joined_choices(names), in_quotes(text));
    }
  }
  if (!value.is_number()) return "";
  for (const CountRow& row : count_rows()) {
    if (!ends_in(way, row.end)) continue;
    const double number = value.get<double>();
    if (value.is_number_integer() && number >= static_cast<double>(row.least) &&
        number <= static_cast<double>(row.most)) {
      return "";
    }
    return fmt::format("expected a whole number from {} to {}, got {}", row.least, row.most,
                       json_line(value));
  }
  return "";
}

struct WrongValue {
  KeyPath way;
  std::string what;
};

void collect(const Json& value, KeyPath& way, std::vector<WrongValue>& mistakes) {
  std::string what = mistake_in(value, way);
  if (!what.empty()) mistakes.push_back({way, std::move(what)});
  if (value.is_primitive()) return;
  for (const auto& item : value.items()) {
    way.push_back(item.key());
    collect(item.value(), way, mistakes);
    way.pop_back();
  }
}

/// The place of the value at a path, or of its deepest ancestor in the tree.
Place place_of_value(const YamlNode& root, const KeyPath& way) {
  const YamlNode* node = &root;
  for (const std::string& key : way) {
    if (const YamlEntry* entry = node->find(key)) {
      node = &entry->value;
    } else if (node->type == YamlNode::Type::Sequence && std::stoul(key) < node->items.size()) {
      node = &node->items[std::stoul(key)];
    } else {
      break;
    }
  }
  return node->place;
}

/// Reads JSON again by the YAML reader, which has places.
YamlNode tree_of(const std::string& text, const std::string& name) {
  try {
    return parse_yaml(text, name, true);
  } catch (const InputError&) {
    YamlNode none;
    none.place.source = std::make_shared<const std::string>(name);
    return none;
  }
}

}  // namespace

void check_result(const Json& result, const std::string& text, const std::string& name) {
  std::vector<WrongValue> mistakes;
  KeyPath way;
  collect(result, way, mistakes);
  if (mistakes.empty()) return;
  const YamlNode tree = tree_of(text, name);
  InputMessages messages;
  for (const WrongValue& mistake : mistakes) {
    messages.add(place_of_value(tree, mistake.way), fmt::format("{}", fmt::join(mistake.way, ".")),
                 mistake.what);
  }
  messages.throw_if_any();
}

}  // namespace dfsearch
