#include "io/config/shelf_figures.hpp"

#include <algorithm>
#include <utility>

#include "io/config/config_readers.hpp"
#include "io/config/config_system.hpp"
#include "io/config/workload_text.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

/// The file as a section of a config; the file has no `from:`.
YamlEntry section_of(const ShelfFile& file, const char* name) {
  YamlNode node = parse_yaml(std::string(file.text), file.source(), true);
  return {.key = name, .place = node.place, .value = std::move(node)};
}

/// `chips: 1`, for a reader that requires a number.
YamlEntry one_chip(const Place& place) {
  YamlNode value;
  value.type = YamlNode::Type::Scalar;
  value.place = place;
  value.scalar = "1";
  return {.key = "chips", .place = place, .value = std::move(value)};
}

/// Number of values, choices, or steps of a range.
std::size_t choices_of(const YamlNode& axis, InputMessages& messages) {
  if (const YamlEntry* choices = axis.find("choices")) return choices->value.entries.size();
  if (const YamlEntry* values = axis.find("values")) return values->value.items.size();
  const YamlEntry* steps = axis.find("steps");
  if (!steps) return 0;
  return static_cast<std::size_t>(read_count(*steps, {}, messages).value_or(0));
}

/// Whether both axes are in the same list of `zip`, which is one list or several.
bool walk_together(const YamlNode& study, const std::string& a, const std::string& b) {
  const auto has = [](const YamlNode& list, const std::string& name) {
    return std::any_of(list.items.begin(), list.items.end(),
                       [&](const YamlNode& item) { return item.scalar == name; });
  };
  const auto has_both = [&](const YamlNode& list) { return has(list, a) && has(list, b); };
  const YamlEntry* zip = study.find("zip");
  if (!zip) return false;
  const auto& items = zip->value.items;
  return has_both(zip->value) || std::any_of(items.begin(), items.end(), has_both);
}

}  // namespace

SystemFigures system_figures(const ShelfFile& file) {
  YamlEntry section = section_of(file, "system");
  const bool has_chips = section.value.find("chips") != nullptr;
  InputMessages messages;
  SystemFigures figures;
  if (section.value.find("networks")) {
    if (!has_chips) section.value.entries.push_back(one_chip(section.place));
    figures.machine = read_calculon_machine(section, messages);
    messages.throw_if_any();
  } else {
    auto text = read_system(section, std::nullopt, SystemUse::ChipAlone, messages);
    messages.throw_if_any();
    figures.machine = std::move(text->system);
  }
  if (has_chips) figures.chips = figures.machine.chips;
  return figures;
}

WorkloadFigures workload_figures(const ShelfFile& file) {
  InputMessages messages;
  std::vector<PartitionPin> pins;
  YamlEntry section = section_of(file, "workload");
  resolve_family(section.value, messages);
  const std::optional<Workload> workload = read_workload(section, pins, messages);
  messages.throw_if_any();
  // Models with several kinds of layers have counts but no graph.
  const bool is_mixed = workload->transformer && workload->transformer->mixed;
  const Flops counted = is_mixed ? workload->counts->training_flop_per_token *
                                       static_cast<double>(workload->sequence) *
                                       static_cast<double>(workload->global_batch)
                                 : Flops{};
  return {.kind = workload->kind,
          .layers = workload->transformer ? workload->transformer->layers : workload->layers,
          .global_batch = workload->global_batch,
          .flop = is_mixed ? counted : workload->flops(),
          .counts = workload->counts};
}

StudyFigures study_figures(const ShelfFile& file) {
  InputMessages messages;
  const YamlNode root = parse_yaml(std::string(file.text), file.source(), true);
  StudyFigures figures;
  const YamlEntry* base = root.find("base");
  if (base && !base->value.find("from")) {
    figures.dimensions.push_back({.axes = {"base"}, .choices = base->value.entries.size()});
  }
  const YamlEntry* axes = root.find("axes");
  if (!axes) return figures;
  for (const YamlNode& axis : axes->value.items) {
    const YamlEntry* entry = axis.find("name");
    const std::string name = entry ? entry->value.scalar : std::string();
    const auto together = std::find_if(
        figures.dimensions.begin(), figures.dimensions.end(),
        [&](const DimensionOfStudy& other) { return walk_together(root, other.axes[0], name); });
    if (together != figures.dimensions.end()) {
      together->axes.push_back(name);
    } else {
      figures.dimensions.push_back({.axes = {name}, .choices = choices_of(axis, messages)});
    }
  }
  messages.throw_if_any();
  return figures;
}

}  // namespace dfsearch
