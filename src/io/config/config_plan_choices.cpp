// The sections `training` and `parallelism` of a config with `training`.

#include "io/config/config_plan_choices.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/config/config_offload.hpp"
#include "io/config/config_rates.hpp"
#include "io/config/config_system.hpp"
#include "io/schema/read_schema.hpp"
#include "model/problem_schema.hpp"
#include "model/training/names.hpp"

namespace dfsearch {
namespace {

using training::Task;

// More than there are values worth trying.
constexpr std::size_t kMostPlanValues = 1000;

/// One value or a list of them; `read` makes a value of an entry.
template <class Read>
auto read_list(MapReader& reader, std::string_view key, const Read& read) {
  std::vector<typename decltype(read(std::declval<YamlEntry>()))::value_type> values;
  const YamlEntry* entry = reader.optional(key);
  if (!entry) return values;
  if (entry->value.type != YamlNode::Type::Sequence) {
    if (const auto value = read(*entry)) values.push_back(*value);
    return values;
  }
  const std::size_t count = entry->value.items.size();
  if (count == 0 || count > kMostPlanValues) {
    reader.messages().add(entry->value.place, key,
                          fmt::format("expected 1 to {} values, got {}", kMostPlanValues, count));
    return values;
  }
  for (const YamlNode& node : entry->value.items) {
    if (const auto value = read(item(*entry, node))) values.push_back(*value);
  }
  return values;
}

template <class E, std::size_t count>
std::vector<E> read_words(MapReader& reader, std::string_view key,
                          const std::array<E, count>& values) {
  Choices<E> choices;
  for (const E value : values) choices.emplace_back(training::name_of(value), value);
  return read_list(reader, key, [&](const YamlEntry& entry) {
    return read_choice(entry, choices, reader.messages());
  });
}

std::vector<std::int64_t> read_counts(MapReader& reader, std::string_view key, CountRange range) {
  return read_list(reader, key, [&](const YamlEntry& entry) {
    return read_count(entry, range, reader.messages());
  });
}

/// A number for each stage; nothing is known of a model that is wrong.
std::vector<std::int64_t> read_layers(MapReader& reader, std::optional<std::int64_t> of_model) {
  std::vector<std::int64_t> layers;
  const YamlEntry* entry = reader.optional("layers");
  if (!entry) return layers;
  InputMessages& messages = reader.messages();
  const std::size_t before = messages.count();
  if (entry->value.type != YamlNode::Type::Sequence) {
    messages.add(entry->value.place, "layers",
                 "expected a list, the layers of each stage, got " + entry->value.description());
  }
  for (const YamlNode& node : entry->value.items) {
    const CountRange range{.least = 0, .most = of_model.value_or(kLargestCount)};
    const auto count = read_count(item(*entry, node), range, messages);
    if (count) layers.push_back(*count);
  }
  if (messages.count() != before || !of_model) return layers;
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  if (sum != *of_model) {
    messages.add(entry->value.place, "layers",
                 fmt::format("expected {} layers in all, got {}", *of_model, sum));
  }
  return layers;
}

/// Those that have a name, and the places of the front.
std::vector<training::TensorLayout> read_layouts(MapReader& reader) {
  using training::TensorLayout;
  std::vector<std::pair<std::string, TensorLayout>> names;
  for (const TensorLayout layout : {TensorLayout::LeastSent, TensorLayout::LeastKept}) {
    names.emplace_back(training::name_of(layout), layout);
  }
  for (int place = 1; place <= training::kMostFrontLayouts; ++place) {
    names.emplace_back(training::name_of(training::front_layout(place)),
                       training::front_layout(place));
  }
  return read_list(reader, "layout", [&](const YamlEntry& entry) -> std::optional<TensorLayout> {
    for (const auto& [name, layout] : names) {
      if (entry.value.type == YamlNode::Type::Scalar && entry.value.scalar == name) return layout;
    }
    reader.messages().add(entry.value.place, entry.key,
                          fmt::format("expected least_sent, least_kept or one of front_1 to {}, "
                                      "got {}",
                                      names.back().first, entry.value.description()));
    return std::nullopt;
  });
}

void read_element(MapReader& reader, std::string_view key, double& bytes) {
  constexpr Range<Bytes> kElement{Bytes(0.125), Bytes(1024.0)};
  if (const auto given = reader.optional_quantity(key, kElement)) bytes = given->in_base_units();
}

}  // namespace

void read_plan_choices(const YamlEntry& section, bool others_are_right, Task& task,
                       InputMessages& messages) {
  MapReader reader(section, messages);
  training::Choices& choices = task.choices;
  choices.layouts = read_layouts(reader);
  choices.recomputes = read_words(reader, "recompute", training::kRecomputes);
  for (const std::int64_t zero : read_counts(reader, "zero", {.least = 0, .most = 3})) {
    choices.zeros.push_back(static_cast<int>(zero));
  }
  choices.schedules = read_words(reader, "schedule", training::kSchedules);
  choices.chunks = read_counts(reader, "chunks", {});
  choices.layers =
      read_layers(reader, others_are_right ? std::optional(task.model.layers) : std::nullopt);
  choices.offload = read_offload<training::Offload>(reader);
  if (others_are_right && choices.offload && choices.offload->any() &&
      !task.machine.second_memory()) {
    messages.add(section.value.find("offload")->value.place, "offload",
                 "expected none, as the system has no second memory (memory.second)");
  }
  task.data_overlap = reader.optional_choice("data_overlap", kYesOrNo).value_or(true);
  read_element(reader, "gradient", task.bytes.gradient);
  read_element(reader, "sent_gradient", task.bytes.sent);
  read_element(reader, "optimizer", task.bytes.optimizer);
  reader.finish();
}

void read_role_degrees(const YamlEntry& section, Task& task, InputMessages& messages) {
  MapReader reader(section, messages);
  for (const training::Role role : training::kRoles) {
    const Field row{.key = training::name_of(role), .type = &TypeOf<DegreeChoice>::type};
    if (const YamlEntry* entry = reader.optional(row.key)) {
      read_value(*entry, row, &task.choices.degrees[static_cast<std::size_t>(role)], messages);
    }
  }
  reader.finish();
}

}  // namespace dfsearch
