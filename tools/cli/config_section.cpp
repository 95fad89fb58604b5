#include "cli/config_section.hpp"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "io/config/config_system.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {
namespace {

constexpr std::string_view kNo = "--no-";

/// Whether the option is a key of the section; such options have one name each.
bool is_key(const OptionRow& row) {
  const std::string_view name = row.names;
  return !name.starts_with(kNo) && name != "--json";
}

std::string_view key_of(const OptionRow& row) {
  return std::string_view(row.names).substr(std::string_view("--").size());
}

/// Schema of a section: the notation of an option is part of its meaning.
template <std::size_t form>
const Schema& section_schema() {
  static std::deque<std::string> docs;
  static const std::vector<Field> fields = [] {
    const auto command = std::ranges::find(command_rows(), kClosedForms[form], &CommandRow::name);
    std::vector<Field> keys;
    for (const OptionRow& row : command->own_options) {
      if (!is_key(row)) continue;
      docs.push_back(row.is_flag() ? row.meaning : std::string(row.value) + ": " + row.meaning);
      keys.push_back(by_hand(key_of(row), docs.back(), row.is_flag() ? TypeOf<bool>::type : kAny));
    }
    return keys;
  }();
  static const Schema schema{.name = kClosedForms[form], .fields = fields};
  return schema;
}

template <std::size_t form>
constexpr Type kSection{.form = Form::Object, .schema = &section_schema<form>};

const Schema& closed_form_schema() {
  static constexpr Field kFields[] = {
      by_hand("system", "on which machine", kSystemType, {.flags = kRequired | kFromFile}),
      by_hand(kClosedForms[0], "options of `dfsearch linpack` as keys", kSection<0>),
      by_hand(kClosedForms[1], "options of `dfsearch fourier` as keys", kSection<1>),
      by_hand(kClosedForms[2], "options of `dfsearch collective` as keys", kSection<2>)};
  static constexpr Schema kSchema{.name = "config of a closed form", .fields = kFields};
  return kSchema;
}

/// The text of a list or of a single value; nothing, and a message, for a map.
std::vector<std::string> texts_of(const YamlEntry& entry, const OptionRow& row,
                                  InputMessages& messages) {
  const bool is_list = entry.value.type == YamlNode::Type::Sequence;
  if (is_list && row.times != Times::Repeatable) {
    messages.add(entry.value.place, entry.key, "expected one value, got a list");
    return {};
  }
  std::vector<std::string> texts;
  for (const YamlNode& value :
       is_list ? std::span(entry.value.items) : std::span(&entry.value, 1)) {
    if (auto word = read_word({entry.key, entry.place, value}, messages)) texts.push_back(*word);
  }
  return texts;
}

/// Reads one value; a message names the key in place of the option.
void read_text(const YamlEntry& entry, const OptionRow& row, const std::string& text,
               CommandLine& line, InputMessages& messages) {
  try {
    row.read(line, row, text);
  } catch (const InputError& error) {
    std::string what = error.messages().front();
    const std::string name = row.name() + ": ";
    if (what.starts_with(name)) what.erase(0, name.size());
    messages.add(entry.value.place, entry.key, what);
  }
}

}  // namespace

void read_section(const CommandRow& command, std::vector<OptionValues>& options,
                  CommandLine& line) {
  if (std::ranges::find(kClosedForms, command.name) == kClosedForms.end()) return;
  const std::filesystem::path file = find_input(line.config, ShelfKind::Configs);
  InputMessages messages;
  const SourceFile source = config_text(file);
  const YamlNode root =
      complete_tree(parse_yaml(source.text, source.source, true), file, line.overrides, messages);
  messages.throw_if_any();
  const YamlEntry* section = root.find(command.name);
  if (!section) return;
  const auto option = [&](const std::string& name) -> OptionValues* {
    const auto found =
        std::ranges::find_if(options, [&](const auto& o) { return o.row.name() == name; });
    return found == options.end() ? nullptr : &*found;
  };
  MapReader reader(*section, messages);
  for (const OptionRow& row : command.own_options) {
    if (!is_key(row)) continue;
    const std::string_view key = key_of(row);
    const YamlEntry* entry = reader.optional(key);
    OptionValues* given = option(row.names);
    OptionValues* negative = option(std::string(kNo) + std::string(key));
    if (!entry || !given->values.empty() || (negative && !negative->values.empty())) continue;
    line.from_section.emplace_back(row.name(), entry->value.place.to_text() + ": " + entry->key);
    if (row.is_flag()) {
      const std::optional<bool> yes = read_flag(*entry, messages);
      if (yes && !*yes) given = negative;
      if (yes && given) given->row.read(line, given->row, "");
      continue;
    }
    given->values = texts_of(*entry, row, messages);
    for (const std::string& text : given->values) read_text(*entry, row, text, line, messages);
  }
  reader.finish();
  messages.throw_if_any();
}

InputError placed(const InputError& error, const CommandLine& line) {
  std::vector<std::string> messages = error.messages();
  for (std::string& message : messages) {
    for (const auto& [option, place] : line.from_section) {
      if (message.starts_with(option + ": ")) message.replace(0, option.size(), place);
    }
  }
  return InputError(std::move(messages));
}

const Type& closed_form_config() {
  static constexpr Type kConfig{.form = Form::Object, .schema = &closed_form_schema};
  return kConfig;
}

}  // namespace dfsearch
