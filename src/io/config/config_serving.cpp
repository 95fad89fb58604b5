#include "io/config/config_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/serving_text.hpp"
#include "io/config/shelf.hpp"
#include "io/config/stack_files.hpp"
#include "io/schema/read_schema.hpp"

namespace dfsearch {
namespace {

using serving::Number;

/// Adds the peaks of a measured chip for number types without a given one.
void add_peaks(const YamlEntry& entry, PeaksSection& peaks, InputMessages& messages) {
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

/// Takes the peaks of measured chips, before the rows of `peak` replace them.
void read_chips(const YamlNode& root, std::vector<PoolSection>& pools, InputMessages& messages) {
  const YamlEntry* serving = root.find("serving");
  const YamlEntry* list = serving ? serving->value.find("pools") : nullptr;
  if (!list) return;
  pools.resize(list->value.items.size());
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const YamlEntry* system = list->value.items[i].find("system");
    const YamlEntry* chip = system ? system->value.find("chip") : nullptr;
    if (chip) add_peaks(*chip, pools[i].system.peak, messages);
  }
}

/// Adds the server of a pool, if its release is known, with its share of the memory.
void add_server(const ServingSection& text, serving::Pool& pool) {
  serving::Engine& engine = pool.engine;
  const std::optional<serving::Release> release = text.engine ? text.engine : engine.release;
  if (text.task.utilization.memory) engine.usable = *text.task.utilization.memory;
  if (!release) return;
  const double total = pool.machine.memory[0].capacity.in_base_units();
  serving::Server& server = pool.server.emplace();
  if (engine.usable < 1.0) server.share = engine.usable;
  server.release = *release;
  server.max_seqs = text.task.max_seqs.value_or(serving::max_seqs_of(*release, total));
  server.batched_tokens = text.task.batched_tokens;
  server.graphs = text.graphs;
  if (text.outside.empty()) return;
  auto& outside = server.outside.emplace();
  for (std::size_t i = 0; i < outside.size(); ++i) {
    outside[i] = text.outside[std::min(i, text.outside.size() - 1)];
  }
}

/// Formats in which numbers are multiplied; numbers without a row are multiplied in 16 bits.
constexpr std::pair<Number, Math> kMath[] = {{Number::Fp32, Math::Fp32}, {Number::Fp8, Math::Fp8},
                                             {Number::Int8, Math::Int8}, {Number::Nvfp4, Math::Fp4},
                                             {Number::Mxfp4, Math::Fp4}, {Number::Fp4, Math::Fp4}};

/// Adds the peaks that the chip states for number types without a given one.
void add_peaks(const Peaks& peaks, PeaksSection& given) {
  for (const auto& [number, math] : kMath) {
    const auto peak = product_peak(peaks, math);
    auto& own = given.of[static_cast<std::size_t>(number)];
    if (!own && peak && peak->math == math) own = peak->rate;
  }
}

serving::Pool pool_of(const PoolSection& text) {
  const PoolSystemSection& system = text.system;
  PeaksSection peak = system.peak;
  add_peaks(system.peaks, peak);
  serving::Pool pool{.name = text.name,
                     .chips = text.chips,
                     .machine = {},
                     .peak = peak.of,
                     .price = system.price,
                     .power = system.power,
                     .transfer = system.transfer,
                     .engine = system.engine,
                     .server = {},
                     .execution = system.execution};
  pool.machine.chips = text.chips;
  if (system.accelerator) pool.machine.accelerator = system.accelerator->accelerator;
  pool.machine.memory = system.memory.tiers();
  pool.machine.energy = system.energy;
  for (const PoolDimensionSection& dimension : system.network) {
    pool.machine.network.push_back(dimension.dimension);
  }
  return pool;
}

/// Name of the shelf's file with the times of a pool's engine; empty if there is none.
std::string engine_name(const YamlNode& root, std::size_t pool) {
  const YamlNode& pools = root.find("serving")->value.find("pools")->value;
  const YamlEntry* system = pools.items[pool].find("system");
  const YamlEntry* engine = system ? system->value.find("engine") : nullptr;
  const YamlEntry* layer = engine ? engine->value.find("layer") : nullptr;
  if (!layer || !layer->value.place.source) return {};
  const ShelfFile* file = find_on_shelf(std::filesystem::path(*layer->value.place.source));
  return file && file->kind == ShelfKind::Engines ? std::string(file->name) : std::string();
}

void take_workload(const ServedSection& text, serving::Task& task) {
  task.model = text.model.model();
  task.requests = text.requests;
  task.rate = text.rate;
  task.concurrency = text.concurrency;
  task.rounds = text.rounds;
  task.num_requests = text.num_requests;
  task.length_spread = text.length_spread;
  if (text.popularity) task.popularity = text.popularity->zipf;
  task.precisions = text.precision.all();
  const SpeculationSection& speculation = text.speculation;
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
  FleetSection fleet;
  ServedSection served;
  ServingSection text;
  MapReader reader(root, "", start, messages);
  const std::size_t before = messages.count();
  if (const YamlEntry* system = reader.optional("system")) {
    messages.add(system->value.place, "system",
                 "not allowed in a deployment, in which each pool has a system; --set "
                 "serving.pools.0.system=NAME sets that of the first pool");
  }
  const YamlEntry* several = reader.optional("fleet");
  if (several) {
    read_object(*several, fleet, messages);
  } else if (const YamlEntry* section = reader.required("workload")) {
    read_object(*section, served, messages);
  }
  if (const YamlEntry* section = reader.required("serving")) {
    read_chips(root, text.pools, messages);
    read_object(*section, text, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  if (messages.count() != before) return config;
  if (!text.measured.empty()) {
    config.measured = std::filesystem::path(*start.source).parent_path() / text.measured;
  }
  config.task = text.task;
  for (const PoolSection& pool : text.pools) {
    config.task.pools.push_back(pool_of(pool));
    config.task.pools.back().engine.name = engine_name(root, config.task.pools.size() - 1);
    add_server(text, config.task.pools.back());
  }
  const auto check_kinds_of_layers = [&](const serving::Task& task, const Place& place) {
    const bool is_fused = std::any_of(
        task.pools.begin(), task.pools.end(),
        [](const serving::Pool& pool) { return pool.execution.style == Style::Dataflow; });
    if (task.model.mixed && is_fused) {
      messages.add(place, "model",
                   fmt::format("style dataflow needs layers that are all alike, expected "
                               "kernel_by_kernel for the layers {}",
                               layer_summary(task.model.mixed->shape.stacks.front())));
    }
    if (task.model.mixed && task.model.mixed->has_encoder()) {
      messages.add(place, "model",
                   fmt::format("deployments of models with an encoder, such as the layers {}, are "
                               "not supported; 'training' plans a step of this model",
                               layer_summary(task.model.mixed->shape.stacks.front())));
    } else if (task.model.mixed && !task.model.mixed->is_causal()) {
      messages.add(place, "model",
                   "expected a causal model: attention that sees later tokens cannot generate "
                   "tokens one by one");
    }
    const bool predicts = task.speculation.kind == serving::Drafting::Mtp;
    if (task.model.mixed && predicts && !task.model.mixed->attends()) {
      messages.add(place, "speculation",
                   "kind mtp needs a layer with attention, and this model has none; expected "
                   "another kind or no speculation");
    }
  };
  // The time per token after the first (tpot) needs a request of several tokens of output.
  const auto check_outputs = [&](const serving::Task& task, const Place& place) {
    const bool decodes = std::any_of(task.requests.begin(), task.requests.end(),
                                     [](const auto& request) { return request.output > 1; });
    const bool asks = task.objective == serving::Objective::Interactivity ||
                      task.objective == serving::Objective::Front || task.limits.tpot;
    if (!decodes && asks) {
      messages.add(place, "output",
                   "no request has more than one token of output, so there is no time per token "
                   "after the first; expected a longer output, or neither limits.tpot nor the "
                   "objectives interactivity and front");
    }
  };
  // Jobs are modelled on aggregated replicas only.
  if (served.num_requests) {
    const YamlEntry* modes = reader.required("serving")->value.find("modes");
    if (!modes) config.task.modes = {serving::Mode::Aggregated};
    if (config.task.modes != std::vector{serving::Mode::Aggregated}) {
      messages.add(modes->place, "modes", "expected modes: [aggregated] with 'num_requests'");
    }
  }
  if (!several) {
    take_workload(served, config.task);
    const std::vector<serving::Mode>& modes = config.task.modes;
    if (config.task.rounds && modes.size() == 1 && modes[0] == serving::Mode::Disaggregated) {
      messages.add(reader.optional("workload")->value.find("rounds")->place, "rounds",
                   "not allowed with 'modes: [disaggregated]': only aggregated replicas are "
                   "modelled with a burst at the start; remove this key");
    }
    check_kinds_of_layers(config.task, reader.optional("workload")->value.place);
    check_outputs(config.task, reader.optional("workload")->value.place);
    return config;
  }
  using serving::Objective;
  const Objective objective = config.task.objective;
  if (objective != Objective::Cost && objective != Objective::Energy &&
      objective != Objective::Chips) {
    messages.add(several->place, "fleet",
                 "only valid with the objective cost, energy or chips, which are summed over all "
                 "chips in use");
  }
  const std::vector<serving::Pool>& pools = config.task.pools;
  if (objective == Objective::Energy &&
      std::none_of(pools.begin(), pools.end(),
                   [](const serving::Pool& pool) { return pool.power > Watts{}; })) {
    messages.add(several->place, "fleet",
                 "the objective energy counts the watts of a fleet, expected 'power' in the system "
                 "of at least one pool");
  }
  const serving::Limits common = config.task.limits;
  config.fleet.budget = fleet.budget;
  for (const FleetModelSection& model : fleet.models) {
    config.fleet.names.push_back(model.name);
    serving::Task& task = config.fleet.models.emplace_back(config.task);
    take_workload(model.workload, task);
    check_kinds_of_layers(task, several->value.place);
    const auto own = [](const auto& of_model, const auto& of_all) {
      return of_model ? of_model : of_all;
    };
    task.limits = {.ttft = own(model.limits.ttft, common.ttft),
                   .tpot = own(model.limits.tpot, common.tpot),
                   .e2e = own(model.limits.e2e, common.e2e),
                   .cost = own(model.limits.cost, common.cost)};
    check_outputs(task, several->value.place);
  }
  config.task = config.fleet.models.front();
  return config;
}

}  // namespace dfsearch
