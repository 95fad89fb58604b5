#include "io/result/answer_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/result/answer_json.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/loop_choices.hpp"
#include "io/text/map_reader.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/step/step_time.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

/// Fills a Mapping and collects errors on the way.
class MappingReader {
 public:
  explicit MappingReader(const Problem& problem) : problem_(problem) {
    for (const Kernel& kernel : graph().kernels()) {
      kernel_ids_.emplace(kernel.name, kernel_ids_.size());
    }
  }

  Mapping read(const YamlNode& root) {
    MapReader map(root, "", root.place, messages_);
    read_network(map);
    read_parallelism(map);
    mapping_.micro_batch = read_size(map, "micro_batch", problem_.workload.micro_batch);
    mapping_.tile = read_size(map, "tile", default_tile());
    read_partitions(map);
    const bool has_sharding = read_sharding(map);
    // The other keys of a result do not describe the mapping.
    if (map.optional("dfsearch") == nullptr) map.finish();
    throw_if_any();
    // Chosen last, once all keys are valid, since it may take long.
    if (!has_sharding) mapping_.sharding = least_bytes_sharding(problem_);
    return std::move(mapping_);
  }

 private:
  void throw_if_any() const {
    try {
      messages_.throw_if_any();
    } catch (const InputError& error) {
      if (ruled_out_ == messages_.count()) throw RuledOutMapping(error.messages());
      throw;
    }
  }
  void add_ruled_out(const YamlEntry& entry, std::string_view what) {
    messages_.add(entry.value.place, entry.key, what);
    ++ruled_out_;
  }

  [[nodiscard]] const DataflowGraph& graph() const { return problem_.workload.graph; }

  /// The entry of a key; null values of results count as absent.
  static const YamlEntry* given(MapReader& map, std::string_view key) {
    const YamlEntry* entry = map.optional(key);
    return entry != nullptr && entry->value.type != YamlNode::Type::Null ? entry : nullptr;
  }

  [[nodiscard]] std::optional<std::int64_t> default_tile() const {
    if (problem_.workload.sequence == 1) return 1;
    return problem_.workload.tile;
  }

  std::int64_t read_size(MapReader& map, std::string_view key,
                         std::optional<std::int64_t> in_config) {
    if (const YamlEntry* entry = given(map, key)) {
      return read_count(*entry, {}, messages_).value_or(1);
    }
    if (!in_config && map.is_map()) {
      messages_.add(map.place(), "",
                    fmt::format("missing key '{}': the config leaves it open", key));
    }
    return in_config.value_or(1);
  }

  // Refuses a mapping whose degrees or strategies differ from the ones that the config fixes: with
  // others, its partitions have another meaning.
  void read_network(MapReader& map) {
    const std::vector<NetworkDimension>& dimensions = problem_.system.network;
    for (const NetworkDimension& dimension : dimensions) {
      mapping_.network.push_back({.degree = dimension.degree.value_or(1),
                                  .strategy = dimension.strategy.value_or(Strategy::Tensor)});
    }
    const YamlEntry* list = given(map, "network");
    if (list == nullptr) {
      const bool open =
          std::any_of(dimensions.begin(), dimensions.end(),
                      [](const NetworkDimension& d) { return !d.degree || !d.strategy; });
      if (open && map.is_map()) {
        messages_.add(map.place(), "", "missing key 'network': the config leaves it open");
      }
      return;
    }
    const std::vector<YamlNode>& items = list->value.items;
    if (list->value.type != YamlNode::Type::Sequence || items.size() != dimensions.size()) {
      messages_.add(
          list->value.place, list->key,
          fmt::format("expected a list of {} dimensions as in the config", dimensions.size()));
      return;
    }
    const std::size_t before = messages_.count();
    for (std::size_t d = 0; d < items.size(); ++d) {
      MapReader dimension(items[d], fmt::format("network.{}", d), items[d].place, messages_);
      read_dimension(dimension, dimensions[d], mapping_.network[d]);
      dimension.finish();
    }
    if (messages_.count() == before && !allows(problem_, mapping_.network)) {
      add_ruled_out(*list,
                    fmt::format("expected degrees whose product is the number of chips, {}, and "
                                "that the config's parallelism allows",
                                problem_.system.chips));
    }
  }

  void read_dimension(MapReader& map, const NetworkDimension& config,
                      Mapping::Dimension& dimension) {
    if (const YamlEntry* degree = given(map, "degree")) {
      dimension.degree = read_count(*degree, {}, messages_).value_or(1);
      if (config.degree) check_degree(*degree, dimension.degree, *config.degree);
    } else if (!config.degree) {
      messages_.add(map.place(), "", "missing key 'degree': the config leaves it open");
    }
    if (const YamlEntry* strategy = given(map, "strategy")) {
      const auto value = read_choice(
          *strategy, named({Strategy::Tensor, Strategy::Pipeline, Strategy::Data}), messages_);
      if (value && config.strategy && *value != *config.strategy) {
        add_ruled_out(*strategy, fmt::format("expected {} as in the config, got {}",
                                             name_of(*config.strategy), name_of(*value)));
      }
      dimension.strategy = value.value_or(dimension.strategy);
    } else if (!config.strategy) {
      messages_.add(map.place(), "", "missing key 'strategy': the config leaves it open");
    }
  }

  void check_degree(const YamlEntry& entry, std::int64_t degree, std::int64_t expected) {
    if (degree == expected) return;
    add_ruled_out(entry, fmt::format("expected {} as in the config, got {}", expected, degree));
  }

  void read_parallelism(MapReader& map) {
    const YamlEntry* entry = given(map, "parallelism");
    if (entry == nullptr) return;
    MapReader degrees(*entry, messages_);
    for (const Strategy strategy : {Strategy::Tensor, Strategy::Pipeline, Strategy::Data}) {
      if (const YamlEntry* degree = given(degrees, name_of(strategy))) {
        if (const auto value = read_count(*degree, {}, messages_)) {
          check_degree(*degree, *value, degree_of(mapping_.network, strategy));
        }
      }
    }
    degrees.finish();
  }

  std::optional<std::size_t> find_kernel(const std::string& name, const Place& place,
                                         std::string_view key) {
    const auto found = kernel_ids_.find(name);
    if (found != kernel_ids_.end()) return found->second;
    std::string near;
    if (messages_.wants_more()) near = suggestion(name, names_of(graph().kernels(), &Kernel::name));
    messages_.add(place, key,
                  fmt::format("the workload has no kernel {}{}", in_quotes(name), near));
    return std::nullopt;
  }

  void read_partitions(MapReader& map) {
    const YamlEntry* status = given(map, "status");
    const YamlEntry* list = given(map, "partitions");
    if (list == nullptr) {
      const bool ended = status != nullptr && status->value.type == YamlNode::Type::Scalar;
      if (!map.is_map()) return;
      messages_.add(map.place(), "",
                    fmt::format("missing key 'partitions': the file holds no mapping{}",
                                ended ? ", its status is " + in_quotes(status->value.scalar) : ""));
      return;
    }
    if (!holds_list(*list, "a list of {kernels: [...]}", messages_)) return;
    const std::size_t before = messages_.count();
    mapping_.partition.assign(graph().kernel_count(), -1);
    cores_.assign(graph().kernel_count(), std::nullopt);
    std::int64_t next = 0;
    for (std::size_t p = 0; p < list->value.items.size(); ++p) {
      next = read_partition(list->value.items[p], fmt::format("partitions.{}", p), next) + 1;
    }
    // A misspelt name must not cause a second message about the intended kernel.
    if (messages_.count() != before) return;
    report_missing(list->place, list->key, "in no partition",
                   [&](std::size_t k) { return mapping_.partition[k] >= 0; });
    take_cores(*list);
  }

  /// Returns the index of the partition: the given one, or `next`.
  std::int64_t read_partition(const YamlNode& node, const std::string& name, std::int64_t next) {
    MapReader map(node, name, node.place, messages_);
    std::int64_t index = next;
    if (const YamlEntry* entry = given(map, "index")) {
      index = read_count(*entry, {.least = next, .most = kLargestCount}, messages_).value_or(next);
    }
    if (const YamlEntry* kernels = map.required("kernels")) read_kernels(*kernels, index);
    if (const YamlEntry* cores = given(map, "cores")) read_cores(*cores, index);
    for (const AnswerRow& row : kPartitionKeys) map.optional(row.key);
    map.optional("dataflow");
    map.finish();
    return index;
  }

  void read_kernels(const YamlEntry& list, std::int64_t index) {
    if (!holds_list(list, "a list of names", messages_)) return;
    for (const YamlNode& item : list.value.items) {
      if (item.type != YamlNode::Type::Scalar) {
        messages_.add(item.place, list.key, "expected a name, got " + item.description());
        continue;
      }
      const auto kernel = find_kernel(item.scalar, item.place, list.key);
      if (!kernel) continue;
      if (mapping_.partition[*kernel] >= 0) {
        messages_.add(item.place, list.key, in_quotes(item.scalar) + " stands twice");
      }
      mapping_.partition[*kernel] = index;
    }
  }

  void read_cores(const YamlEntry& map, std::int64_t index) {
    if (!holds_map(map, "{kernel: [lanes, stages]}", messages_)) return;
    for (const YamlEntry& entry : map.value.entries) {
      const auto kernel = find_kernel(entry.key, entry.place, map.key);
      if (!kernel) continue;
      if (mapping_.partition[*kernel] != index) {
        messages_.add(entry.place, map.key, in_quotes(entry.key) + " is not of this partition");
      }
      if (entry.value.items.size() != 2) {
        messages_.add(entry.value.place, entry.key, "expected [lanes, stages]");
        continue;
      }
      const auto extent = [&](std::size_t i) {
        const YamlEntry part{.key = entry.key, .place = entry.place, .value = entry.value.items[i]};
        return read_count(part, {.least = 1, .most = std::int64_t{1} << 30}, messages_).value_or(1);
      };
      const std::int64_t lanes = extent(0);
      cores_[*kernel] = CoreGrid{.lanes = lanes, .stages = extent(1)};
    }
  }

  /// Reads the cores.  Without them, evaluate allocates cores; a given utilization makes them
  /// irrelevant.
  void take_cores(const YamlEntry& list) {
    const bool any = std::any_of(cores_.begin(), cores_.end(),
                                 [](const auto& grid) { return grid.has_value(); });
    if (!any || problem_.execution.compute_utilization) return;
    report_missing(list.place, list.key, "without cores, though others have some",
                   [&](std::size_t k) { return cores_[k].has_value(); });
    for (const auto& grid : cores_) mapping_.cores.push_back(grid.value_or(CoreGrid{}));
  }

  bool read_sharding(MapReader& map) {
    const YamlEntry* entry = given(map, "sharding");
    if (entry == nullptr) return false;
    if (!holds_map(*entry, "{kernel: loop}", messages_)) return true;
    const std::size_t before = messages_.count();
    std::vector<bool> named(graph().kernel_count());
    mapping_.sharding.assign(graph().kernel_count(), Loop::None);
    for (const YamlEntry& item : entry->value.entries) {
      const auto kernel = find_kernel(item.key, item.place, entry->key);
      if (!kernel) continue;
      named[*kernel] = true;
      const auto loops = read_choice(item, loop_choices(problem_.tensor_axes), messages_);
      mapping_.sharding[*kernel] = loops.value_or(Loop::None);
    }
    if (messages_.count() != before) return true;
    report_missing(entry->place, entry->key, "without a loop",
                   [&](std::size_t k) { return named[k]; });
    return true;
  }

  /// One message for all kernels that lack something, not one for each.
  template <class Has>
  void report_missing(const Place& place, std::string_view key, std::string_view what, Has has) {
    constexpr std::int64_t kShown = 8;
    std::string names;
    std::int64_t missing = 0;
    for (std::size_t k = 0; k < graph().kernel_count(); ++k) {
      if (has(k) || ++missing > kShown) continue;
      names += (names.empty() ? "" : ", ") + graph().kernels()[k].name;
    }
    if (missing == 0) return;
    if (missing > kShown) names += fmt::format(" and {} more", missing - kShown);
    messages_.add(place, key, fmt::format("{}: {}", what, names));
  }

  const Problem& problem_;
  Mapping mapping_;
  std::vector<std::optional<CoreGrid>> cores_;
  std::unordered_map<std::string, std::size_t> kernel_ids_;
  InputMessages messages_;
  std::size_t ruled_out_ = 0;  // number of messages about decisions that the config rules out
};

/// Shares are quotients of amounts, so they are multiples of the step only up to rounding.
constexpr double kRounding = 1e-9;

struct Section {
  const char* key;
  BudgetClass budget;
};
constexpr std::array<Section, 3> kSections = {
    {{"area", BudgetClass::DieArea}, {"power", BudgetClass::Power}, {"edge", BudgetClass::Edge}}};

}  // namespace

std::optional<GridPoint> load_split(const std::filesystem::path& file, const ChipDesign& design,
                                    RuledOut& reasons) {
  const YamlNode root = load_yaml(file);
  InputMessages messages;
  MapReader result(root, "", root.place, messages);
  const SplitSpace space(design);
  const double step = *design.budget.step;
  SplitBox box;
  if (const YamlEntry* split = result.required("split", "as the budget leaves shares out")) {
    MapReader classes(*split, messages);
    for (const auto& [key, budget] : kSections) {
      const YamlEntry* section = classes.required(key);
      if (section == nullptr) continue;
      MapReader shares(*section, messages);
      for (const OpenShare& open : space.shares()) {
        if (open.budget != budget) continue;
        const YamlEntry* entry = shares.required(name_of(open.part));
        const auto share = entry ? read_number(*entry, {0.0, 1.0}, messages) : std::nullopt;
        if (!share) continue;
        const double steps = std::round(*share / step);
        box.least.push_back(static_cast<std::int32_t>(steps));
        if (std::abs(steps * step - *share) > kRounding) {
          reasons.push_back(fmt::format("split.{}.{}: expected a multiple of the step, {}, got {}",
                                        key, name_of(open.part), step, *share));
        }
      }
      shares.finish();
    }
    classes.finish();
  }
  messages.throw_if_any();
  box.most = box.least;
  if (reasons.empty() && !space.tighten(box)) {
    reasons.emplace_back("split: the shares are more than the budgets of the config leave");
  }
  if (!reasons.empty()) return std::nullopt;
  return box.least;
}

Mapping parse_mapping(const std::string& text, const std::string& name, const Problem& problem) {
  return MappingReader(problem).read(parse_yaml(text, name, true));
}

Mapping load_mapping(const std::filesystem::path& file, const Problem& problem) {
  return parse_mapping(read_file(file), file.string(), problem);
}

}  // namespace dfsearch
