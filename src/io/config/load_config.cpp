// From a config file to a problem, in four steps:
//   1. text -> tree (yaml_tree.hpp), for the config and every file it names;
//   2. `from:` files, of the shelf or by their paths, and the `model:` of a workload, are laid
//      under the sections that name them, then the overrides of the command line go on top;
//   3. each section is read and checked by itself (config_workload.hpp, config_system.hpp,
//      config_execution.hpp);
//   4. what involves several sections is checked.
// Syntax errors end step 1; everything later is collected and thrown at once.

#include "io/config/load_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "io/config/config_calculon.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/config_system.hpp"
#include "io/config/config_training.hpp"
#include "io/config/config_workload.hpp"
#include "io/config/overrides.hpp"
#include "io/config/shelf.hpp"
#include "io/text/read_file.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kSectionsWithFrom = {"workload", "system"};

/// What a `from:` names: a file, or one of the shelf.
struct BaseFile {
  fs::path file;                     ///< as messages call it
  fs::path identity;                 ///< the same under all its names
  const ShelfFile* shelf = nullptr;  ///< null: it is read from `file`

  [[nodiscard]] std::string text() const {
    return shelf ? std::string(shelf->text) : read_file(file);
  }
};

/// A name without folder and ending is one of the shelf, if files of this place may stand there.
std::optional<BaseFile> base_file(const std::string& name, const fs::path& directory,
                                  std::optional<ShelfKind> kind, const Place& place,
                                  InputMessages& messages) {
  if (kind && is_shelf_name(name)) {
    const ShelfFile* found = find_on_shelf(*kind, name);
    if (found)
      return BaseFile{.file = found->source(), .identity = found->source(), .shelf = found};
    messages.add(place, "from", not_on_shelf(*kind, name));
    return std::nullopt;
  }
  const fs::path file = (directory / name).lexically_normal();
  std::error_code error;
  return BaseFile{.file = file, .identity = fs::weakly_canonical(file, error)};
}

/// Replaces a map with a `from:` by the file it names with the map on top.  The
/// file may have a `from:` of its own, relative to itself; `open` holds the
/// files on the way here.
void resolve_from(YamlNode& section, const fs::path& directory, std::optional<ShelfKind> kind,
                  std::vector<fs::path>& open, InputMessages& messages) {
  const YamlEntry* from = section.find("from");
  if (!from) return;
  const std::optional<std::string> name = read_word(*from, messages);
  const Place place = from->value.place;
  std::erase_if(section.entries, [](const YamlEntry& entry) { return entry.key == "from"; });
  if (!name) return;
  const std::optional<BaseFile> named = base_file(*name, directory, kind, place, messages);
  if (!named) return;
  const std::string source = named->file.string();
  if (std::find(open.begin(), open.end(), named->identity) != open.end()) {
    messages.add(place, "from", "the file " + in_quotes(source) + " leads back to itself");
    return;
  }
  constexpr std::size_t kLongestChain = 32;
  if (open.size() > kLongestChain) {
    messages.add(place, "from", fmt::format("a chain of more than {} files", kLongestChain));
    return;
  }
  std::string text;
  try {
    text = named->text();
  } catch (const InputError& wrong) {
    // That the file cannot be read is a fault of whoever names it.
    for (const std::string& message : wrong.messages()) messages.add(place, "from", message);
    return;
  }
  try {
    YamlNode base = parse_yaml(text, source, true);
    if (base.type != YamlNode::Type::Map) {
      messages.add(base.place.source ? base.place : place, "from",
                   fmt::format("expected the file {} to hold a map, got {}", in_quotes(source),
                               base.description()));
      return;
    }
    open.push_back(named->identity);
    resolve_from(base, named->file.parent_path(), kind, open, messages);
    open.pop_back();
    merge_into(base, std::move(section));
    section = std::move(base);
  } catch (const InputError& wrong) {
    // What is wrong inside the file has its own place.
    for (const std::string& message : wrong.messages()) messages.add({message});
  }
}

/// Replaces a workload with a `model:` by the model of the shelf with the map on top.
void resolve_model(YamlNode& section, InputMessages& messages) {
  const YamlEntry* entry = section.find("model");
  if (!entry) return;
  const std::optional<std::string> name = read_word(*entry, messages);
  const Place place = entry->value.place;
  std::erase_if(section.entries, [](const YamlEntry& item) { return item.key == "model"; });
  if (!name) return;
  const ShelfFile* file = find_on_shelf(ShelfKind::Workloads, *name);
  if (!file || !file->is_model()) {
    const std::vector<std::string_view> names = model_names();
    messages.add(place, "model",
                 fmt::format("unknown model {}, expected {}{}", in_quotes(*name),
                             joined_choices(names), suggestion(*name, names)));
    return;
  }
  YamlNode model = parse_yaml(std::string(file->text), file->source(), true);
  merge_into(model, std::move(section));
  section = std::move(model);
}

/// The folder of the file that an entry stands in; that of the config for an override.
fs::path folder_of(const YamlEntry& entry, const fs::path& config_folder) {
  if (entry.value.place.is_override() || !entry.value.place.source) return config_folder;
  return fs::path(*entry.value.place.source).parent_path();
}

/// The maps of a system that may come from files: its technology, each part of that, and
/// the budget.  The names of their files count from the file that says them.
void resolve_technology(YamlNode& system, const fs::path& directory, std::vector<fs::path>& open,
                        InputMessages& messages) {
  const auto resolve = [&](YamlNode& map) {
    const YamlEntry* from = map.find("from");
    if (from) resolve_from(map, folder_of(*from, directory), std::nullopt, open, messages);
  };
  for (const std::string_view name : {"technology", "budget"}) {
    YamlEntry* part = system.find(name);
    if (!part) continue;
    resolve(part->value);
    if (name == "budget") continue;
    for (YamlEntry& inner : part->value.entries) resolve(inner.value);
  }
}

/// The section of rates.  A word alone is short for a map that comes from the file of this name.
YamlEntry* rates_of(YamlNode& root) {
  YamlEntry* execution = root.find("execution");
  YamlEntry* rates = execution ? execution->value.find("efficiency") : nullptr;
  if (!rates || rates->value.type != YamlNode::Type::Scalar) return rates;
  YamlNode& node = rates->value;
  YamlNode map;
  map.type = YamlNode::Type::Map;
  map.place = node.place;
  map.entries.push_back({.key = "from", .place = node.place, .value = std::move(node)});
  node = std::move(map);
  return rates;
}

/// Overrides that say which file a section comes from go before that file is
/// read, all others after.
bool chooses_file(const Override& change) {
  const auto& path = change.path;
  if (path.size() > 2 && path.front() == "system" && path.back() == "from") return true;
  if (path.size() > 1 && path[0] == "execution" && path[1] == "efficiency") {
    return path.size() == 2 || (path.size() == 3 && path[2] == "from");
  }
  const bool section = std::find(kSectionsWithFrom.begin(), kSectionsWithFrom.end(),
                                 path.front()) != kSectionsWithFrom.end();
  const bool model = path.size() == 2 && path[0] == "workload" && path[1] == "model";
  return section && (path.size() == 1 || (path.size() == 2 && path[1] == "from") || model);
}

/// `equations: published` is short for a map with a preset, which an override
/// may add a switch to.
void spell_out_preset(YamlNode& root) {
  YamlEntry* entry = root.find("equations");
  if (!entry || entry->value.type != YamlNode::Type::Scalar) return;
  YamlNode map;
  map.type = YamlNode::Type::Map;
  map.place = entry->value.place;
  map.entries.push_back(
      {.key = "preset", .place = entry->value.place, .value = std::move(entry->value)});
  entry->value = std::move(map);
}

void check_is_map(const YamlNode& root, const fs::path& file, InputMessages& messages) {
  if (root.type == YamlNode::Type::Map) return;
  const Place place{.source = std::make_shared<const std::string>(file.string())};
  const bool empty = root.type == YamlNode::Type::Null;
  messages.add(empty ? place : root.place, "",
               empty ? "the file is empty, expected a config with a workload and a system"
                     : "expected a map with a workload and a system, got " + root.description());
  messages.throw_if_any();
}

/// The tree with its files in it, those that the changes choose.
YamlNode tree_with_files(YamlNode root, const fs::path& file, const std::vector<Override>& changes,
                         InputMessages& messages) {
  check_is_map(root, file, messages);
  rates_of(root);  // so that an override may say `from`
  for (const Override& change : changes) {
    if (chooses_file(change)) apply_override(change, root, messages);
  }
  std::error_code error;
  std::vector<fs::path> open = {fs::weakly_canonical(file, error)};
  for (const std::string_view name : kSectionsWithFrom) {
    YamlEntry* section = root.find(name);
    const ShelfKind kind = name == "system" ? ShelfKind::Systems : ShelfKind::Workloads;
    if (section) resolve_from(section->value, file.parent_path(), kind, open, messages);
    if (section && name == "workload") resolve_model(section->value, messages);
    if (section && name == "system") {
      resolve_technology(section->value, file.parent_path(), open, messages);
    }
  }
  if (YamlEntry* rates = rates_of(root)) {
    resolve_from(rates->value, folder_of(*rates, file.parent_path()), ShelfKind::Efficiencies, open,
                 messages);
  }
  // Without its file, all that can be said of a section is what it lacks.
  messages.throw_if_any();
  return root;
}

/// Changes all else.
void apply_changes(const std::vector<Override>& changes, YamlNode& root, InputMessages& messages) {
  for (const Override& change : changes) {
    if (chooses_file(change)) continue;
    if (change.path.front() == "equations" && change.path.size() > 1) spell_out_preset(root);
    apply_override(change, root, messages);
  }
}

YamlNode complete_tree(YamlNode root, const fs::path& file,
                       const std::vector<std::string>& overrides, InputMessages& messages) {
  check_is_map(root, file, messages);
  const std::vector<Override> changes = parse_overrides(overrides, messages);
  root = tree_with_files(std::move(root), file, changes, messages);
  apply_changes(changes, root, messages);
  return root;
}

/// Some workloads know what all dimensions serve; a config may say the same.
void settle_strategies(const Workload& workload, System& system, const YamlEntry& section,
                       InputMessages& messages) {
  if (workload.network_use == NetworkUse::Free) return;
  const bool data = workload.network_use == NetworkUse::Data;
  const Strategy strategy = data ? Strategy::Data : Strategy::Tensor;
  const YamlEntry* network = section.value.find("network");
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    if (system.network[d].strategy.value_or(strategy) != strategy) {
      messages.add(network->value.items[d].find("strategy")->value.place, "strategy",
                   fmt::format("expected {}, as in this kind of workload all dimensions serve, or "
                               "nothing, got {}",
                               name_of(strategy), name_of(*system.network[d].strategy)));
    }
    system.network[d].strategy = strategy;
  }
}

/// The data degree, if the config fixes it.
std::optional<std::int64_t> data_degree(const Workload& workload, const System& system) {
  if (workload.network_use == NetworkUse::Data) return system.chips / workload.copies;
  std::int64_t degree = 1;
  for (const NetworkDimension& dimension : system.network) {
    if (!dimension.strategy || (*dimension.strategy == Strategy::Data && !dimension.degree)) {
      return std::nullopt;
    }
    if (*dimension.strategy == Strategy::Data) degree *= *dimension.degree;
  }
  return degree;
}

void check_batch(const Workload& workload, const System& system, const YamlEntry& section,
                 InputMessages& messages) {
  const YamlEntry* global_batch = section.value.find("global_batch");
  const YamlEntry* micro_batch = section.value.find("micro_batch");
  const Place place =
      global_batch || micro_batch ? place_of_conflict({global_batch, micro_batch}) : section.place;
  // Where the search chooses the data degree it takes one that divides.
  const std::int64_t data = data_degree(workload, system).value_or(1);
  if (workload.global_batch % data != 0) {
    messages.add(place, "global_batch",
                 fmt::format("expected a multiple of the data degree, {}, got {}", data,
                             workload.global_batch));
  } else if (workload.micro_batch && (workload.global_batch / data) % *workload.micro_batch != 0) {
    messages.add(place, "global_batch",
                 fmt::format("expected a multiple of data degree * micro_batch = {} * {}, got {}",
                             data, *workload.micro_batch, workload.global_batch));
  }
}

/// Pins of the graph, and those of `execution` on top of them.
std::vector<std::optional<std::int64_t>> join_pins(const Problem& problem,
                                                   std::vector<PartitionPin> pins,
                                                   const std::vector<PartitionPin>& over,
                                                   InputMessages& messages) {
  if (pins.empty() && over.empty()) return {};
  pins.insert(pins.end(), over.begin(), over.end());
  std::vector<std::optional<std::int64_t>> joined(problem.workload.graph.kernel_count());
  const std::int64_t limit = problem.partition_limit();
  for (const PartitionPin& pin : pins) {
    joined[pin.kernel.index()] = pin.partition;
    if (pin.partition < limit) continue;
    messages.add(
        pin.place, problem.workload.graph.kernel(pin.kernel).name,
        fmt::format("expected a partition from 0 to {}, got {}", limit - 1, pin.partition));
  }
  return joined;
}

/// What an objective weighs the step time with must be there.
void check_objective(Objective objective, const YamlEntry& search, const YamlEntry* price,
                     const YamlEntry* power, InputMessages& messages) {
  const auto missing = [&](const char* what) {
    messages.add(search.value.find("objective")->value.place, "objective", what);
  };
  if (objective == Objective::CostEfficiency && !price) {
    missing("cost_efficiency needs prices, expected a section 'price'");
  }
  if (objective == Objective::PowerEfficiency && !power) {
    missing("power_efficiency needs powers, expected a section 'power'");
  }
}

/// Levels that cannot hold the smallest tile of a GEMM make a chip that runs none.
void add_small_levels(const Problem& problem, Chip& chip) {
  if (!chip.infeasible.empty() || holds_tiles(problem.system.levels, problem.workload.word)) return;
  for (std::size_t x = 0; x + 1 < chip.levels.size(); ++x) {
    const ChipLevel& level = chip.levels[x];
    if (words_of(level.share, problem.workload.word) >= 3) continue;
    const Component part = component_of(level.name);
    chip.infeasible.push_back(
        {part, BudgetClass::DieArea, 0.0, chip.split.area[part].in_base_units(), true});
  }
}

/// Levels that are to take time must be there, and those that are given must be of use.
void check_levels(const Config& config, const YamlEntry& execution, InputMessages& messages) {
  const Problem& problem = config.problem;
  if (!problem.execution.levels || config.design) return;
  const Place& place = execution.value.find("levels")->value.place;
  if (problem.system.levels.empty()) {
    messages.add(place, "levels", "the system has none, expected 'levels' or a 'technology' there");
  } else if (!holds_tiles(problem.system.levels, problem.workload.word)) {
    messages.add(place, "levels",
                 "a level inside another has less than three words for each that owns one");
  }
}

/// Derives the chip, once its equations are known, and completes the machine with it.
void derive_chip(const YamlNode& root, Config& config, InputMessages& messages) {
  ChipDesign& design = *config.design;
  Problem& problem = config.problem;
  const YamlEntry* section = root.find("system");
  if (!problem.execution.compute_utilization) {
    problem.execution.compute_utilization = design.technology.core.utilization;
  }
  if (open_shares(design.budget, design.technology).any()) {
    if (problem.objective != Objective::StepTime) {
      messages.add(section->value.find("budget")->place, "budget",
                   "leaves something to search, for which the objective must be step_time");
    }
    return;
  }
  config.chip = derive(design, split_of(design.budget), problem.system.network);
  settle_chip(design, *config.chip, *section, problem.system, messages);
  if (problem.execution.levels) add_small_levels(problem, *config.chip);
  const YamlEntry* power = root.find("power");
  if (!power || !power->value.find("accelerator")) {
    problem.system.power.accelerator = config.chip->drawn();
  }
}

Config read_config(const YamlNode& root, const Place& start, SystemUse use,
                   InputMessages& messages) {
  Config config;
  Problem& problem = config.problem;
  MapReader reader(root, "", start, messages);
  std::vector<PartitionPin> graph_pins;
  std::optional<Workload> workload;
  std::optional<System> system;
  TechnologyEquations technology_equations;
  const bool chip_alone = use == SystemUse::ChipAlone;
  if (const YamlEntry* section =
          chip_alone ? reader.optional("workload") : reader.required("workload")) {
    workload = read_workload(*section, graph_pins, messages);
  }
  if (const YamlEntry* section = reader.required("system")) {
    std::optional<std::int64_t> copies;
    if (workload) copies = workload->copies;
    if (auto text = read_system(*section, copies, use, messages)) {
      system = std::move(text->system);
      config.design = std::move(text->design);
    }
  }
  const YamlEntry* execution = reader.optional("execution");
  const std::size_t before_execution = messages.count();
  if (execution) {
    problem.execution = read_execution(*execution, messages);
    config.launch_overhead = read_launch_overhead(*execution, messages);
    if (!chip_alone && config.launch_overhead > Seconds{}) {
      messages.add(execution->place, "launch_overhead",
                   "only a GEMM alone on a chip has one ('dfsearch gemm'), expected none");
    }
  }
  const bool execution_is_right = messages.count() == before_execution;
  const YamlEntry* price = reader.optional("price");
  const YamlEntry* power = reader.optional("power");
  if (system) {
    if (price) read_price(*price, *system, messages);
    if (power) read_power(*power, *system, messages);
  }
  if (const YamlEntry* section = reader.optional("equations")) {
    problem.equations = read_equations(*section, technology_equations, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    config.search = read_search(*section, config.problem, messages);
    const YamlEntry* has_power = config.design ? root.find("system") : power;
    check_objective(problem.objective, *section, price, has_power, messages);
  }
  if (const YamlEntry* section = reader.optional("sharding")) {
    problem.sharding_pins =
        read_sharding(*section, workload ? &workload->graph : nullptr, messages);
  }
  if (const YamlEntry* section = reader.optional("parallelism")) {
    problem.parallelism = read_parallelism(*section, messages);
  }
  reader.optional("training");  // a config that has it is of another kind: named in messages
  reader.finish();
  if (workload && system) {
    settle_strategies(*workload, *system, *root.find("system"), messages);
    check_batch(*workload, *system, *root.find("workload"), messages);
  }
  const bool system_is_right = system.has_value();
  if (system) problem.system = std::move(*system);
  if (workload) {
    problem.workload = std::move(*workload);
    if (system_is_right && execution) check_levels(config, *execution, messages);
    if (execution_is_right) {
      std::vector<PartitionPin> pins;
      if (execution) pins = read_partition_pins(*execution, problem.workload.graph, messages);
      problem.execution.pins = join_pins(problem, std::move(graph_pins), pins, messages);
    }
  }
  if (config.design) {
    config.design->equations = technology_equations;
    derive_chip(root, config, messages);
  }
  return config;
}

/// The word that chooses Calculon's model, or nothing.
const YamlNode* calculon_preset(const YamlNode& root) {
  const YamlEntry* entry = root.find("equations");
  if (!entry) return nullptr;
  const YamlEntry* preset = entry->value.find("preset");
  const YamlNode& word = preset ? preset->value : entry->value;
  return word.type == YamlNode::Type::Scalar && word.scalar == "calculon" ? &word : nullptr;
}

/// Whether a config of Calculon's model is wanted as well, or one of the first model only.
enum class Wanted { Any, FirstModel };

/// Reads a tree that is complete.
AnyConfig read_any(YamlNode root, const fs::path& file, Wanted wanted, SystemUse use,
                   InputMessages& messages) {
  const Place start{
      .source = std::make_shared<const std::string>(file.string()), .line = 1, .column = 1};
  AnyConfig config;
  const YamlNode* calculon = calculon_preset(root);
  if (calculon && wanted == Wanted::FirstModel) {
    messages.add(calculon->place, "equations",
                 "expected physical or published here, as calculon has no mapping and no graph: "
                 "only solve and check take it");
  } else if (calculon) {
    config = read_calculon_config(root, start, messages);
  } else if (const YamlEntry* plan = root.find("training")) {
    if (wanted == Wanted::FirstModel) {
      messages.add(plan->place, "training",
                   "a plan of training steps has no mapping: only solve and check take it");
    } else {
      config = read_training_config(std::move(root), start, messages);
    }
  } else {
    config = read_config(root, start, use, messages);
  }
  messages.throw_if_any();
  return config;
}

AnyConfig config_of(YamlNode tree, const fs::path& file, const std::vector<std::string>& overrides,
                    Wanted wanted, SystemUse use = SystemUse::Whole) {
  InputMessages messages;
  YamlNode root = complete_tree(std::move(tree), file, overrides, messages);
  return read_any(std::move(root), file, wanted, use, messages);
}

}  // namespace

AnyConfig load_any_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return config_of(load_yaml(file), file, overrides, Wanted::Any);
}

AnyConfig parse_any_config(const std::string& text, const fs::path& name,
                           const std::vector<std::string>& overrides) {
  return config_of(parse_yaml(text, name.string(), true), name, overrides, Wanted::Any);
}

Config load_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return std::get<Config>(config_of(load_yaml(file), file, overrides, Wanted::FirstModel));
}

Config load_chip_config(const fs::path& file, const std::vector<std::string>& overrides) {
  return std::get<Config>(
      config_of(load_yaml(file), file, overrides, Wanted::FirstModel, SystemUse::ChipAlone));
}

Config parse_config(const std::string& text, const fs::path& name,
                    const std::vector<std::string>& overrides) {
  return std::get<Config>(
      config_of(parse_yaml(text, name.string(), true), name, overrides, Wanted::FirstModel));
}

/// Trees with their files, by the changes that choose files.
struct ConfigTemplate::State {
  fs::path file;
  YamlNode tree;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const YamlNode>> with_files;  // guarded by mutex
};

ConfigTemplate::ConfigTemplate(const fs::path& file) : state_(std::make_unique<State>()) {
  state_->file = file;
  state_->tree = load_yaml(file);
}

ConfigTemplate::ConfigTemplate(ConfigTemplate&&) noexcept = default;
ConfigTemplate::~ConfigTemplate() = default;

YamlNode ConfigTemplate::tree_with(const std::vector<Override>& changes) const {
  std::string choice;
  for (const Override& change : changes) {
    if (chooses_file(change)) choice += change.text + '\n';
  }
  InputMessages messages;
  std::shared_ptr<const YamlNode> base;
  {
    const std::lock_guard lock(state_->mutex);
    std::shared_ptr<const YamlNode>& kept = state_->with_files[choice];
    if (!kept) {
      kept = std::make_shared<const YamlNode>(
          tree_with_files(state_->tree, state_->file, changes, messages));
    }
    base = kept;
  }
  YamlNode root = *base;
  apply_changes(changes, root, messages);
  messages.throw_if_any();
  return root;
}

AnyConfig ConfigTemplate::with(const std::vector<Override>& changes) const {
  InputMessages messages;
  return read_any(tree_with(changes), state_->file, Wanted::Any, SystemUse::Whole, messages);
}

}  // namespace dfsearch
