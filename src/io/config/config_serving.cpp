#include "io/config/config_training.hpp"

#include <algorithm>

#include "io/config/serving_text.hpp"
#include "io/config/stack_files.hpp"
#include "io/schema/read_schema.hpp"

namespace dfsearch {
namespace {

using serving::Number;

/// `peak: 989 TFLOP/s` is the peak of bf16, and of each type without a peak of its own.
void read_peak(const YamlEntry& entry, PeaksText& peaks, InputMessages& messages) {
  if (entry.value.type == YamlNode::Type::Map) {
    read_object(entry, peaks, messages);
    return;
  }
  const auto rate =
      read_quantity<FlopsPerSecond>(entry, {FlopsPerSecond(1.0), FlopsPerSecond(1e24)}, messages);
  if (rate) peaks.of[static_cast<std::size_t>(Number::Bf16)] = *rate;
}

/// Adds the peaks of a measured chip for number types without a given one.
void add_peaks(const YamlEntry& entry, PeaksText& peaks, InputMessages& messages) {
  const auto chip = load_measured_chip(entry.value.scalar, {}, entry.value.place, messages);
  if (!chip) return;
  const auto add = [&](Number number, FlopsPerSecond rate) {
    auto& peak = peaks.of[static_cast<std::size_t>(number)];
    if (!peak && rate > FlopsPerSecond{}) peak = rate;
  };
  add(Number::Bf16, chip->peak[0]);
  for (const Number number : {Number::Fp8, Number::Int8}) add(number, chip->peak[1]);
  for (const Number number : {Number::Nvfp4, Number::Mxfp4, Number::Fp4}) {
    add(number, chip->peak[2]);
  }
}

/// The keys that code reads, before the rules of the rows ask for them.
void read_peaks(const YamlNode& root, std::vector<PoolText>& pools, InputMessages& messages) {
  const YamlEntry* serving = root.find("serving");
  const YamlEntry* list = serving ? serving->value.find("pools") : nullptr;
  if (!list) return;
  pools.resize(list->value.items.size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const YamlEntry* system = list->value.items[i].find("system");
    const YamlEntry* peak = system ? system->value.find("peak") : nullptr;
    if (peak) read_peak(*peak, pools[i].system.peak, messages);
    const YamlEntry* chip = system ? system->value.find("chip") : nullptr;
    if (chip) add_peaks(*chip, pools[i].system.peak, messages);
  }
}

serving::Pool pool_of(const PoolText& text) {
  const PoolSystemText& system = text.system;
  serving::Pool pool{.name = text.name,
                     .chips = text.chips,
                     .machine = {},
                     .peak = system.peak.of,
                     .price = system.price,
                     .power = system.power,
                     .transfer = system.transfer,
                     .engine = system.engine,
                     .execution = system.execution};
  pool.machine.chips = text.chips;
  if (system.accelerator) pool.machine.accelerator = system.accelerator->accelerator;
  pool.machine.memory = system.memory.tiers();
  for (const PoolDimensionText& dimension : system.network) {
    pool.machine.network.push_back(dimension.dimension);
  }
  return pool;
}

void take_workload(const ServedText& text, serving::Task& task) {
  task.model = text.model.model();
  task.requests = text.requests;
  task.rate = text.rate;
  task.concurrency = text.concurrency;
  task.rounds = text.rounds;
  task.precisions = text.precision.all();
  const SpeculationText& speculation = text.speculation;
  task.speculation = {.kind = speculation.kind,
                      .depths = speculation.depths,
                      .acceptance = speculation.acceptance,
                      .draft = {}};
  if (task.speculation.depths.empty()) task.speculation.depths = {0};
  if (speculation.draft) task.speculation.draft = speculation.draft->model();
}

}  // namespace

bool is_serving_config(const YamlNode& root) {
  if (root.find("serving")) return true;
  const YamlEntry* workload = root.find("workload");
  const YamlEntry* kind = workload ? workload->value.find("kind") : nullptr;
  return kind && kind->value.scalar == "llm_serving";
}

ServingConfig read_serving_config(const YamlNode& root, const Place& start,
                                  InputMessages& messages) {
  ServingConfig config;
  FleetText fleet;
  ServedText served;
  ServingText text;
  MapReader reader(root, "", start, messages);
  const std::size_t before = messages.count();
  if (const YamlEntry* system = reader.optional("system")) {
    messages.add(system->value.place, "system",
                 "a deployment has one in each of its pools; --set serving.pools.0.system=NAME "
                 "names that of the first");
  }
  const YamlEntry* several = reader.optional("fleet");
  if (several) {
    read_object(*several, fleet, messages);
  } else if (const YamlEntry* section = reader.required("workload")) {
    read_object(*section, served, messages);
  }
  if (const YamlEntry* section = reader.required("serving")) {
    read_peaks(root, text.pools, messages);
    read_object(*section, text, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  if (messages.count() != before) return config;
  config.task = std::move(text.task);
  if (!text.measured.empty()) {
    config.measured = std::filesystem::path(*start.source).parent_path() / text.measured;
  }
  for (const PoolText& pool : text.pools) config.task.pools.push_back(pool_of(pool));
  if (!several) {
    take_workload(served, config.task);
    return config;
  }
  using serving::Objective;
  const Objective objective = config.task.objective;
  if (objective != Objective::Cost && objective != Objective::Energy &&
      objective != Objective::Chips) {
    messages.add(several->place, "fleet",
                 "goes with the objectives cost, energy and chips: of all chips in use");
  }
  const serving::Limits common = config.task.limits;
  config.fleet.budget = fleet.budget;
  for (const FleetModelText& model : fleet.models) {
    config.fleet.names.push_back(model.name);
    serving::Task& task = config.fleet.models.emplace_back(config.task);
    take_workload(model.workload, task);
    const auto own = [](const auto& of_model, const auto& of_all) {
      return of_model ? of_model : of_all;
    };
    task.limits = {.ttft = own(model.limits.ttft, common.ttft),
                   .tpot = own(model.limits.tpot, common.tpot),
                   .e2e = own(model.limits.e2e, common.e2e),
                   .cost = own(model.limits.cost, common.cost)};
  }
  config.task = config.fleet.models.front();
  return config;
}

}  // namespace dfsearch
