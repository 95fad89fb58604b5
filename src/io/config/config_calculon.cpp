// Reads a config with `equations: calculon`: its sections, and the given decisions of executions.
// Given values that contradict each other or the transformer are errors, reported at their place; a
// contradiction that only a search can find, such as a memory that is too small, is a result.

#include "io/config/config_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "io/config/config_execution.hpp"
#include "io/config/config_rates.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/read_schema.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {
namespace {

using calculon::Communication;
using calculon::ExecutionChoices;
using calculon::Recompute;
using calculon::Task;

constexpr Type kTraining = flag_type([] {
  return std::vector<Choice>{{"llm_training", 1}, {"llm_prefill", 0}};
});
constexpr Type kMaybe = kOptional<bool, &kYesOrNoType>;
constexpr Type kNetworkIndices = list_of(TypeOf<std::int64_t>::type);

void check_degrees(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  const std::int64_t chips = task.machine.chips;
  std::int64_t left = chips;
  for (const auto& degree : {choices.tensor, choices.pipeline, choices.data}) {
    if (!degree) continue;
    if (left % *degree != 0) {
      report.at(
          {&choices.tensor, &choices.pipeline, &choices.data},
          fmt::format("expected degrees whose product divides the number of chips, {}", chips));
      return;
    }
    left /= *degree;
  }
  if (choices.tensor && choices.pipeline && choices.data && left != 1) {
    report.at({&choices.tensor, &choices.pipeline, &choices.data},
              fmt::format("expected tensor * pipeline * data to be the number of chips, {}, got {}",
                          chips, chips / left));
  }
  if (choices.tensor &&
      std::gcd(task.transformer.hidden, task.transformer.heads) % *choices.tensor != 0) {
    report.at({&choices.tensor},
              fmt::format("expected a divisor of hidden, {}, and heads, {}, got {}",
                          task.transformer.hidden, task.transformer.heads, *choices.tensor));
  }
}

void check_batch(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  const auto& batch = choices.global_batch;
  if (batch && choices.maximum_batch && *batch > *choices.maximum_batch) {
    report.at(
        {&choices.global_batch, &choices.maximum_batch},
        fmt::format("expected at most maximum_batch, {}, got {}", *choices.maximum_batch, *batch));
  }
  if (!batch) {
    if (choices.data && *choices.data > *choices.maximum_batch) {
      report.at({&choices.maximum_batch, &choices.data},
                fmt::format("expected at least the data degree, {}, got {}", *choices.data,
                            *choices.maximum_batch));
    }
    return;
  }
  const std::int64_t data = choices.data.value_or(1);
  if (*batch % data != 0) {
    report.at({&choices.global_batch, &choices.data},
              fmt::format("expected a multiple of the data degree, {}, got {}", data, *batch));
  } else if (choices.micro_batch && (*batch / data) % *choices.micro_batch != 0) {
    report.at({&choices.micro_batch, &choices.global_batch, &choices.data},
              fmt::format("expected a divisor of the {} samples of a data rank, got {}",
                          *batch / data, *choices.micro_batch));
  }
}

void check_chunks(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  if (!choices.chunks || !choices.pipeline) return;
  const std::int64_t stages = *choices.pipeline;
  const std::int64_t blocks =
      task.transformer.layers / stages + (task.transformer.layers % stages == 0 ? 0 : 1);
  if (stages == 1 && *choices.chunks > 1) {
    report.at({&choices.chunks, &choices.pipeline},
              fmt::format("expected 1, as there is one stage, got {}", *choices.chunks));
  } else if (blocks % *choices.chunks != 0) {
    report.at({&choices.chunks, &choices.pipeline},
              fmt::format("expected a divisor of the {} blocks of a stage, "
                          "got {}",
                          blocks, *choices.chunks));
  }
}

void check_tensor_ranks(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  if (choices.tensor == 1 &&
      choices.overlap.value_or(calculon::Overlap::None) != calculon::Overlap::None) {
    report.at({&choices.overlap, &choices.tensor}, "expected none, as the tensor degree is 1");
  }
  const bool splits =
      choices.communication.value_or(Communication::AllReduce) != Communication::AllReduce;
  if (!choices.tensor || !choices.micro_batch || !splits) return;
  const std::int64_t tensor = *choices.tensor;
  if (*choices.micro_batch % (tensor / std::gcd(tensor, task.transformer.sequence)) == 0) return;
  report.at({&choices.communication, &choices.micro_batch, &choices.tensor},
            fmt::format("expected ar, as the tensor degree, {}, does not divide micro_batch * "
                        "sequence",
                        tensor));
}

void check_data_ranks(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  if (choices.data != 1) return;
  if (choices.sharding.value_or(false)) {
    report.at({&choices.sharding, &choices.data}, "expected no, as the data degree is 1");
  }
  if (choices.data_overlap.value_or(false)) {
    report.at({&choices.data_overlap, &choices.data}, "expected no, as the data degree is 1");
  }
}

void check_redo(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  if (!choices.redo.value_or(false)) return;
  if (choices.recompute == Recompute::Full) {
    report.at({&choices.redo, &choices.recompute},
              "expected no, as full recomputation gathers again anyway");
  }
  if (choices.communication.value_or(Communication::ReduceScatter) !=
      Communication::ReduceScatter) {
    report.at({&choices.redo, &choices.communication},
              "expected no, as only 'communication: rs' gathers");
  }
}

void check_prefill_and_offload(const Task& task, Report& report) {
  const ExecutionChoices& choices = task.choices;
  const bool prefill = !task.transformer.training;
  if (prefill && choices.recompute.value_or(Recompute::None) != Recompute::None) {
    report.at({&choices.recompute}, "expected none, as llm_prefill has no backward pass");
  }
  if (prefill && choices.data_overlap.value_or(false)) {
    report.at({&choices.data_overlap}, "expected no, as llm_prefill has no gradients");
  }
  if (prefill && choices.offload && choices.offload->optimizer) {
    report.at({&choices.offload}, "expected no optimizer, as llm_prefill has none");
  }
  if (choices.offload && choices.offload->any() && !task.machine.second_memory()) {
    report.at({&choices.offload},
              "expected none, as offloading needs a second memory ('system.memory.second')");
  }
}

/// Checks that a given value is legal together with some values of the open decisions.
using LegalValues = std::vector<std::int64_t>;
void check_domain(const Task& task, Report& report,
                  std::optional<std::int64_t> ExecutionChoices::*choice,
                  LegalValues (calculon::ExecutionSpace::*domain)(const calculon::Execution&)
                      const) {
  const std::optional<std::int64_t>& given = task.choices.*choice;
  if (!given) return;
  Task open = task;
  open.choices.*choice = std::nullopt;
  std::set<std::int64_t> values;
  const calculon::ExecutionSpace space(task);
  for (const std::int64_t tensor : space.tensor_degrees()) {
    for (const std::int64_t pipeline : space.pipeline_degrees(tensor)) {
      const calculon::Execution execution = *space.with_degrees(tensor, pipeline);
      if (!(space.*domain)(execution).empty()) return;
      const LegalValues others = (calculon::ExecutionSpace(open).*domain)(execution);
      values.insert(others.begin(), others.end());
    }
  }
  if (values.empty()) return;  // no degrees are legal, for any value of this key
  constexpr std::size_t kMostListed = 12;
  std::string list;
  for (const std::int64_t value : values) {
    if (static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1 == kMostListed) {
      list += ", ...";
      break;
    }
    list += fmt::format("{}{}", list.empty() ? "" : ", ", value);
  }
  report.at({&given}, fmt::format("no degrees allow it, expected one of {}, got {}", list, *given));
}

void check_batch_given(void* object, Report& report) {
  const auto& [transformer, machine, choices] = *static_cast<const Task*>(object);
  if (!choices.maximum_batch && !choices.global_batch) {
    report.at_map("missing key 'global_batch' or 'maximum_batch'");
  }
}

void check_choices(void* object, Report& report) {
  check_batch_given(object, report);
  if (report.count() > 0) return;
  const Task& task = *static_cast<const Task*>(object);
  for (const auto check : {&check_degrees, &check_batch, &check_chunks, &check_tensor_ranks,
                           &check_data_ranks, &check_redo, &check_prefill_and_offload}) {
    check(task, report);
  }
  if (report.count() > 0) return;
  using Space = calculon::ExecutionSpace;
  check_domain(task, report, &ExecutionChoices::chunks, &Space::chunk_counts);
  check_domain(task, report, &ExecutionChoices::micro_batch, &Space::micro_batches);
}

std::optional<std::array<std::size_t, 3>> read_networks(const YamlEntry& entry, std::int64_t known,
                                                        InputMessages& messages) {
  const auto& items = entry.value.items;
  if (items.size() != 3) {
    messages.add(entry.value.place, entry.key,
                 "expected the indices of three networks, of tensor, pipeline and data, got " +
                     entry.value.description());
    return std::nullopt;
  }
  const auto most = std::max<std::int64_t>(known - 1, 0);
  std::array<std::size_t, 3> networks{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const YamlEntry item{.key = entry.key, .place = items[i].place, .value = items[i]};
    const auto index = read_count(item, {.least = 0, .most = most}, messages);
    if (!index) return std::nullopt;
    networks[i] = static_cast<std::size_t>(*index);
  }
  return networks;
}

/// Reads the decisions, and checks them if the transformer and the machine are right.
void read_choices(const YamlEntry& section, bool others_are_right, Task& task,
                  InputMessages& messages) {
  MapReader reader(section, messages);
  Schema rows = schema_of<Task>();
  if (!others_are_right) rows.check = &check_batch_given;
  read_keys(reader, rows, &task);
  reader.finish();
  if (const YamlEntry* entry = section.value.find("networks")) {
    task.choices.networks = read_networks(
        *entry,
        others_are_right ? static_cast<std::int64_t>(task.machine.network.size()) : kLargestCount,
        messages);
  }
}

// The section `system`.

using Scale = MeasuredNetwork::Scale;
constexpr Type kFactor = within(TypeOf<double>::type, {1e-9, 1e9});
// An offset below -1 would give a group of one member a negative time.
constexpr Type kOffset = within(TypeOf<double>::type, {-1.0, 1e9});
constexpr Type kScale{.form = Form::Pair,
                      .name = "a factor and an offset, like [1.5, -1]",
                      .inner = &kFactor,
                      .other = &kOffset,
                      .at = [](void* member, std::size_t index) -> void* {
                        auto& scale = *static_cast<Scale*>(member);
                        return index == 0 ? &scale.factor : &scale.offset;
                      }};

struct NetworkSection {
  NetworkDimension dimension;
  MeasuredNetwork measured;
};
struct CalculonSystem {
  Machine machine;  ///< everything but the memory and the networks
  MemorySection memory;
  std::vector<NetworkSection> networks;
};

const Schema& engine_rows() {
  static constexpr Field kFields[] = {
      field<&Engine::peak>("peak", "", {.limits = {1, 1e24}, .flags = kRequired}),
      field<&Engine::efficiency>("", "", {.type = &kCurve<Flops>})};
  return schema<Engine, kFields>("engine of Calculon's model");
}
constexpr Type kEngine{.form = Form::Object, .schema = &engine_rows};

const Schema& tier_rows() {
  static constexpr Field kFields[] = {
      field<&MemoryTier::capacity>("capacity", "", {.limits = kSizeLimits, .flags = kRequired}),
      field<&MemoryTier::bandwidth>("bandwidth", "",
                                    {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&MemoryTier::efficiency>("", "", {.type = &kCurve<Bytes>})};
  return schema<MemoryTier, kFields>("tier of Calculon's model");
}
constexpr Type kTier{.form = Form::Object, .schema = &tier_rows};
constexpr Type kSecondTier = kOptional<MemoryTier, &kTier>;

const Schema& memory_rows() {
  static constexpr Field kFields[] = {
      field<&MemorySection::first>("", "", {.type = &kTier}),
      field<&MemorySection::second>("second", "", {.type = &kSecondTier})};
  return schema<MemorySection, kFields>("memory of Calculon's model");
}
constexpr Type kMemory{.form = Form::Object, .schema = &memory_rows};

}  // namespace

/// The operations are in the order of Operation.
const Schema& schema_of(Rows<NetworkSection>) {
  using N = NetworkSection;
  using M = MeasuredNetwork;
  static constexpr Extra kOperation{.type = &kScale};
  static constexpr Field kFields[] = {
      field<&N::dimension, &NetworkDimension::degree>("size", "", kNeeded),
      field<&N::measured, &M::filled>("filled", "", {.type = &kYesOrNoType}),
      field<&N::dimension, &NetworkDimension::bandwidth>(
          "bandwidth", "", {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&N::measured, &M::efficiency>("efficiency", "", {.limits = {1e-9, 1}}),
      field<&N::dimension, &NetworkDimension::latency>("latency", "", {.limits = kLatencyLimits}),
      field<&N::measured, &M::processor_usage>("processor_usage", "", {.limits = {0, 0.99}}),
      element<0, &N::measured, &M::operations>("p2p", "", kOperation),
      element<1, &N::measured, &M::operations>("reduce_scatter", "", kOperation),
      element<2, &N::measured, &M::operations>("all_gather", "", kOperation),
      element<3, &N::measured, &M::operations>("all_reduce", "", kOperation)};
  return schema<N, kFields>("network of Calculon's model");
}

const Schema& schema_of(Rows<CalculonSystem>) {
  using S = CalculonSystem;
  static constexpr Extra kOfEngine{.type = &kEngine, .flags = kRequired};
  static constexpr Type kNetworks = list_type<NetworkSection, Form::List>("networks", 8);
  static constexpr Field kFields[] = {
      field<&S::machine, &Machine::chips>("chips", "", kNeeded),
      field<&S::machine, &Machine::matrix>("matrix", "", kOfEngine),
      field<&S::machine, &Machine::vector>("vector", "", kOfEngine),
      field<&S::memory>("memory", "", {.type = &kMemory, .flags = kRequired}),
      field<&S::networks>("networks", "", {.type = &kNetworks, .flags = kRequired})};
  return schema<S, kFields>("system of Calculon's model", [](void* object, Report& report) {
    const auto& networks = static_cast<const S*>(object)->networks;
    if (networks.empty()) report.at({&networks}, "expected a list of 1 to 8 networks, got 0");
  });
}

const Schema& schema_of(Rows<calculon::ModelShape>) {
  using M = calculon::ModelShape;
  static constexpr Field kFields[] = {
      field<&M::training>("kind", "whether the step has a backward pass",
                          {.type = &kTraining, .flags = kRequired}),
      field<&M::hidden>("hidden", "", kNeeded),
      field<&M::mlp>("mlp", "width of the feed-forward layer", kNeeded),
      field<&M::sequence>("sequence", "tokens of a sample", kNeeded),
      field<&M::heads>("heads", "", kNeeded),
      field<&M::head_dim>("head_dim", "", kNeeded),
      field<&M::layers>("layers", "equal blocks", kNeeded)};
  return schema<M, kFields>("transformer");
}

const Schema& schema_of(Rows<Task>) {
  using C = ExecutionChoices;
  static constexpr Extra kOpen{.preset = "searched"};
  static constexpr Extra kOpenFlag{.type = &kMaybe, .preset = "searched"};
  static constexpr Field kFields[] = {
      field<&Task::choices, &C::tensor>(
          "tensor", "degree; the product of the three is the number of chips", kOpen),
      field<&Task::choices, &C::pipeline>("pipeline", "degree", kOpen),
      field<&Task::choices, &C::data>("data", "degree", kOpen),
      by_hand("networks", "indices of the networks of tensor, pipeline and data ranks",
              kNetworkIndices, {.limits = {0, 7}, .preset = "searched"}),
      field<&Task::choices, &C::maximum_batch>(
          "maximum_batch",
          "in place of `global_batch`: the batch is the greatest multiple of "
          "the data degree up to this. One of the two is required"),
      field<&Task::choices, &C::global_batch>("global_batch", "samples of a step"),
      field<&Task::choices, &C::micro_batch>(
          "micro_batch", "samples of a data rank that go through the stages together", kOpen),
      field<&Task::choices, &C::chunks>(
          "chunks", "parts of a stage that are interleaved in the pipeline", kOpen),
      field<&Task::choices, &C::recompute>(
          "recompute",
          "activations that the backward pass computes again: all of a block, the "
          "attention matrix, or none",
          kOpen),
      field<&Task::choices, &C::communication>(
          "communication",
          "how tensor ranks add up: all-reduce; all-reduce with messages to the next stage split; "
          "or reduce-scatter and all-gather, with the sequence split between them",
          kOpen),
      field<&Task::choices, &C::overlap>(
          "overlap", "how exchanges of tensor ranks hide behind products", kOpen),
      field<&Task::choices, &C::redo>(
          "redo", "gather again in the backward pass instead of keeping what was gathered",
          kOpenFlag),
      field<&Task::choices, &C::data_overlap>(
          "data_overlap", "sums of gradients hide behind the backward pass", kOpenFlag),
      field<&Task::choices, &C::fused>("fused",
                                       "the activation function is part of the product before it",
                                       {.type = &kYesOrNoType}),
      field<&Task::choices, &C::sharding>(
          "sharding", "the optimizer's states are divided over the data ranks", kOpenFlag),
      field<&Task::choices, &C::offload>(
          "offload", "what is kept in the second memory; `none` is the same as `[]`", kOpen)};
  return schema<Task, kFields>("execution of Calculon's model", &check_choices);
}

CalculonConfig read_calculon_config(const YamlNode& root, const Place& start,
                                    InputMessages& messages) {
  CalculonConfig config;
  MapReader reader(root, "", start, messages);
  const std::size_t before = messages.count();
  if (const YamlEntry* section = reader.required("workload")) {
    read_object(*section, config.task.transformer, messages);
  }
  if (const YamlEntry* section = reader.required("system")) {
    config.task.machine = read_calculon_machine(*section, messages);
  }
  const YamlEntry* equations = reader.optional("equations");
  if (equations && equations->value.type == YamlNode::Type::Map) {
    MapReader preset(*equations, messages);
    preset.optional("preset");
    preset.finish();  // other keys are errors: this model has no switches
  }
  if (const YamlEntry* choices = reader.required("calculon")) {
    read_choices(*choices, messages.count() == before, config.task, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  return config;
}

Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages) {
  CalculonSystem text;
  read_object(section, text, messages);
  Machine& machine = text.machine;
  machine.memory = text.memory.tiers();
  for (NetworkSection& network : text.networks) {
    machine.network.push_back(std::move(network.dimension));
    machine.network.back().measured = network.measured;
  }
  return std::move(machine);
}

}  // namespace dfsearch
