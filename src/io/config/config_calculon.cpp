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

constexpr Type kTraining = flag_type([] {
  return std::vector<Choice>{{"llm_training", 1}, {"llm_prefill", 0}};
});
constexpr Type kMaybe = [] {
  Type type = TypeOf<std::optional<bool>>::type;
  type.inner = &kYesOrNoType;
  return type;
}();
constexpr Type kNetworkIndices = list_of(TypeOf<std::int64_t>::type);

/// Reads the section, then checks the values against each other.
class ChoicesReader {
 public:
  ChoicesReader(const YamlEntry& section, const calculon::ModelShape& transformer,
                const Machine& machine, bool others_are_right, InputMessages& messages)
      : others_are_right_(others_are_right),
        reader_(section, messages),
        transformer_(transformer),
        machine_(machine),
        messages_(messages) {}

  ExecutionChoices read() {
    const std::size_t before = messages_.count();
    read_keys(reader_, schema_of<ExecutionChoices>(), &choices_);
    read_networks();
    reader_.finish();
    if (reader_.is_map() && !choices_.maximum_batch && !choices_.global_batch &&
        messages_.count() == before) {
      messages_.add(reader_.place(), "calculon", "missing key 'global_batch' or 'maximum_batch'");
    }
    // Values cannot be checked against a wrong transformer or machine.
    if (others_are_right_ && messages_.count() == before) check();
    if (others_are_right_ && messages_.count() == before) check_domains();
    return choices_;
  }

 private:
  void read_networks() {
    const YamlEntry* entry = reader_.optional("networks");
    if (!entry) return;
    const auto& items = entry->value.items;
    if (entry->value.type != YamlNode::Type::Sequence || items.size() != 3) {
      messages_.add(entry->value.place, entry->key,
                    "expected the indices of three networks, of tensor, pipeline and data, got " +
                        entry->value.description());
      return;
    }
    const std::int64_t count =
        others_are_right_ ? static_cast<std::int64_t>(machine_.network.size()) : kLargestCount;
    std::array<std::size_t, 3> networks{};
    for (std::size_t i = 0; i < items.size(); ++i) {
      const YamlEntry item{.key = entry->key, .place = items[i].place, .value = items[i]};
      const auto index =
          read_count(item, {.least = 0, .most = std::max<std::int64_t>(count - 1, 0)}, messages_);
      if (!index) return;
      networks[i] = static_cast<std::size_t>(*index);
    }
    choices_.networks = networks;
  }

  /// Reports an error of `keys` at the first given one; keys of the command line come first.
  void wrong(std::initializer_list<std::string_view> keys, const std::string& what) {
    const YamlEntry* first = nullptr;
    for (const std::string_view key : keys) {
      const YamlEntry* entry = reader_.optional(key);
      if (!entry) continue;
      if (!first || (!first->value.place.is_override() && entry->value.place.is_override())) {
        first = entry;
      }
    }
    messages_.add(first ? first->value.place : reader_.place(), *keys.begin(), what);
  }

  void check() {
    check_degrees();
    check_batch();
    check_chunks();
    check_tensor_ranks();
    check_data_ranks();
    check_redo();
    check_prefill();
    check_offload();
  }

  void check_degrees() {
    const std::int64_t chips = machine_.chips;
    std::int64_t left = chips;
    for (const auto& degree : {choices_.tensor, choices_.pipeline, choices_.data}) {
      if (!degree) continue;
      if (left % *degree != 0) {
        wrong({"tensor", "pipeline", "data"},
              fmt::format("expected degrees whose product divides the number of chips, {}", chips));
        return;
      }
      left /= *degree;
    }
    if (choices_.tensor && choices_.pipeline && choices_.data && left != 1) {
      wrong({"tensor", "pipeline", "data"},
            fmt::format("expected tensor * pipeline * data to be the number of chips, {}, got {}",
                        chips, chips / left));
    }
    if (choices_.tensor &&
        std::gcd(transformer_.hidden, transformer_.heads) % *choices_.tensor != 0) {
      wrong({"tensor"}, fmt::format("expected a divisor of hidden, {}, and heads, {}, got {}",
                                    transformer_.hidden, transformer_.heads, *choices_.tensor));
    }
  }

  void check_batch() {
    const auto& batch = choices_.global_batch;
    if (batch && choices_.maximum_batch && *batch > *choices_.maximum_batch) {
      wrong({"global_batch", "maximum_batch"},
            fmt::format("expected at most maximum_batch, {}, got {}", *choices_.maximum_batch,
                        *batch));
    }
    if (!batch) {
      if (choices_.data && *choices_.data > *choices_.maximum_batch) {
        wrong({"maximum_batch", "data"},
              fmt::format("expected at least the data degree, {}, got {}", *choices_.data,
                          *choices_.maximum_batch));
      }
      return;
    }
    const std::int64_t data = choices_.data.value_or(1);
    if (*batch % data != 0) {
      wrong({"global_batch", "data"},
            fmt::format("expected a multiple of the data degree, {}, got {}", data, *batch));
    } else if (choices_.micro_batch && (*batch / data) % *choices_.micro_batch != 0) {
      wrong({"micro_batch", "global_batch", "data"},
            fmt::format("expected a divisor of the {} samples of a data rank, got {}",
                        *batch / data, *choices_.micro_batch));
    }
  }

  void check_chunks() {
    if (!choices_.chunks || !choices_.pipeline) return;
    const std::int64_t stages = *choices_.pipeline;
    const std::int64_t blocks =
        transformer_.layers / stages + (transformer_.layers % stages == 0 ? 0 : 1);
    if (stages == 1 && *choices_.chunks > 1) {
      wrong({"chunks", "pipeline"},
            fmt::format("expected 1, as there is one stage, got {}", *choices_.chunks));
    } else if (blocks % *choices_.chunks != 0) {
      wrong({"chunks", "pipeline"}, fmt::format("expected a divisor of the {} blocks of a stage, "
                                                "got {}",
                                                blocks, *choices_.chunks));
    }
  }

  void check_tensor_ranks() {
    if (choices_.tensor == 1 &&
        choices_.overlap.value_or(calculon::Overlap::None) != calculon::Overlap::None) {
      wrong({"overlap", "tensor"}, "expected none, as the tensor degree is 1");
    }
    const bool splits =
        choices_.communication.value_or(Communication::AllReduce) != Communication::AllReduce;
    if (!choices_.tensor || !choices_.micro_batch || !splits) return;
    const std::int64_t tensor = *choices_.tensor;
    if (*choices_.micro_batch % (tensor / std::gcd(tensor, transformer_.sequence)) == 0) return;
    wrong({"communication", "micro_batch", "tensor"},
          fmt::format("expected ar, as the tensor degree, {}, does not divide micro_batch * "
                      "sequence",
                      tensor));
  }

  void check_data_ranks() {
    if (choices_.data != 1) return;
    if (choices_.sharding.value_or(false)) {
      wrong({"sharding", "data"}, "expected no, as the data degree is 1");
    }
    if (choices_.data_overlap.value_or(false)) {
      wrong({"data_overlap", "data"}, "expected no, as the data degree is 1");
    }
  }

  void check_redo() {
    if (!choices_.redo.value_or(false)) return;
    if (choices_.recompute == Recompute::Full) {
      wrong({"redo", "recompute"}, "expected no, as full recomputation gathers again anyway");
    }
    if (choices_.communication.value_or(Communication::ReduceScatter) !=
        Communication::ReduceScatter) {
      wrong({"redo", "communication"}, "expected no, as only 'communication: rs' gathers");
    }
  }

  void check_prefill() {
    if (transformer_.training) return;
    if (choices_.recompute.value_or(Recompute::None) != Recompute::None) {
      wrong({"recompute"}, "expected none, as llm_prefill has no backward pass");
    }
    if (choices_.data_overlap.value_or(false)) {
      wrong({"data_overlap"}, "expected no, as llm_prefill has no gradients");
    }
    if (choices_.offload && choices_.offload->optimizer) {
      wrong({"offload"}, "expected no optimizer, as llm_prefill has none");
    }
  }

  void check_offload() {
    if (choices_.offload && choices_.offload->any() && !machine_.second_memory()) {
      wrong({"offload"},
            "expected none, as offloading needs a second memory ('system.memory.second')");
    }
  }

  /// A given value must be legal together with some values of the open decisions.
  void check_domains() {
    using Space = calculon::ExecutionSpace;
    check_domain("chunks", choices_.chunks, &ExecutionChoices::chunks, &Space::chunk_counts);
    check_domain("micro_batch", choices_.micro_batch, &ExecutionChoices::micro_batch,
                 &Space::micro_batches);
  }

  using Values = std::vector<std::int64_t>;
  void check_domain(std::string_view key, const std::optional<std::int64_t>& given,
                    std::optional<std::int64_t> ExecutionChoices::*choice,
                    Values (calculon::ExecutionSpace::*domain)(const calculon::Execution&) const) {
    if (!given) return;
    const calculon::Task task{transformer_, machine_, choices_};
    calculon::Task open = task;
    open.choices.*choice = std::nullopt;
    std::set<std::int64_t> values;
    const calculon::ExecutionSpace space(task);
    for (const std::int64_t tensor : space.tensor_degrees()) {
      for (const std::int64_t pipeline : space.pipeline_degrees(tensor)) {
        const calculon::Execution execution = *space.with_degrees(tensor, pipeline);
        if (!(space.*domain)(execution).empty()) return;
        const Values others = (calculon::ExecutionSpace(open).*domain)(execution);
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
    wrong({key}, fmt::format("no degrees allow it, expected one of {}, got {}", list, *given));
  }

  const bool others_are_right_;
  MapReader reader_;
  const calculon::ModelShape& transformer_;
  const Machine& machine_;
  InputMessages& messages_;
  ExecutionChoices choices_;
};

}  // namespace

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

const Schema& schema_of(Rows<ExecutionChoices>) {
  using C = ExecutionChoices;
  static constexpr Extra kOpen{.preset = "searched"};
  static constexpr Extra kOpenFlag{.type = &kMaybe, .preset = "searched"};
  static constexpr Field kFields[] = {
      field<&C::tensor>("tensor", "degree; the product of the three is the number of chips", kOpen),
      field<&C::pipeline>("pipeline", "degree", kOpen),
      field<&C::data>("data", "degree", kOpen),
      by_hand("networks", "indices of the networks of tensor, pipeline and data ranks",
              kNetworkIndices, {.limits = {0, 7}, .preset = "searched"}),
      field<&C::maximum_batch>("maximum_batch",
                               "in place of `global_batch`: the batch is the greatest multiple of "
                               "the data degree up to this. One of the two is required"),
      field<&C::global_batch>("global_batch", "samples of a step"),
      field<&C::micro_batch>("micro_batch",
                             "samples of a data rank that go through the stages together", kOpen),
      field<&C::chunks>("chunks", "parts of a stage that are interleaved in the pipeline", kOpen),
      field<&C::recompute>("recompute",
                           "activations that the backward pass computes again: all of a block, the "
                           "attention matrix, or none",
                           kOpen),
      field<&C::communication>(
          "communication",
          "how tensor ranks add up: all-reduce; all-reduce with messages to the next stage split; "
          "or reduce-scatter and all-gather, with the sequence split between them",
          kOpen),
      field<&C::overlap>("overlap", "how exchanges of tensor ranks hide behind products", kOpen),
      field<&C::redo>("redo",
                      "gather again in the backward pass instead of keeping what was gathered",
                      kOpenFlag),
      field<&C::data_overlap>("data_overlap", "sums of gradients hide behind the backward pass",
                              kOpenFlag),
      field<&C::fused>("fused", "the activation function is part of the product before it",
                       {.type = &kYesOrNoType}),
      field<&C::sharding>("sharding", "the optimizer's states are divided over the data ranks",
                          kOpenFlag),
      field<&C::offload>("offload", "what is kept in the second memory; `none` is the same as `[]`",
                         kOpen)};
  return schema<C, kFields>("execution of Calculon's model");
}

ExecutionChoices read_execution_choices(const YamlEntry& section,
                                        const calculon::ModelShape& transformer,
                                        const Machine& machine, bool others_are_right,
                                        InputMessages& messages) {
  return ChoicesReader(section, transformer, machine, others_are_right, messages).read();
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
    config.task.choices =
        read_execution_choices(*choices, config.task.transformer, config.task.machine,
                               messages.count() == before, messages);
  }
  if (const YamlEntry* section = reader.optional("search")) {
    read_object(*section, config.search, messages);
  }
  reader.finish();
  return config;
}

// The section `system` of a config with `equations: calculon`.

namespace {

// Ranges of the values of a machine.  The lower ends keep every time finite.
constexpr Range<BytesPerSecond> kBandwidth{BytesPerSecond(1.0), BytesPerSecond(1e24)};
constexpr Range<FlopsPerSecond> kPeak{FlopsPerSecond(1.0), FlopsPerSecond(1e24)};
constexpr Range<Bytes> kSize{Bytes(1.0), Bytes(1e24)};
constexpr Range<Seconds> kLatency{Seconds(0.0), Seconds(1e3)};
constexpr Range<double> kShare{1e-9, 1.0};
constexpr std::size_t kMostNetworks = 8;

Engine read_engine(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Engine engine;
  engine.peak = reader.required_quantity("peak", kPeak).value_or(FlopsPerSecond(1.0));
  engine.efficiency = read_efficiency<Flops>(reader);
  reader.finish();
  return engine;
}

void read_tier(MapReader& reader, MemoryTier& tier) {
  tier.capacity = reader.required_quantity("capacity", kSize).value_or(Bytes(1.0));
  tier.bandwidth = reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond(1.0));
  tier.efficiency = read_efficiency<Bytes>(reader);
}

void read_memory(const YamlEntry& section, Machine& machine, InputMessages& messages) {
  MapReader reader(section, messages);
  read_tier(reader, machine.memory[0]);
  if (const YamlEntry* second = reader.optional("second")) {
    MapReader tier(*second, messages);
    read_tier(tier, machine.memory.emplace_back());
    tier.finish();
  }
  reader.finish();
}

MeasuredNetwork::Scale read_scale(MapReader& reader, std::string_view key) {
  const YamlEntry* entry = reader.optional(key);
  if (!entry) return {};
  if (!is_pair(entry->value)) {
    reader.messages().add(entry->value.place, key,
                          "expected a pair of a factor and an offset, like [1.5, -1], got " +
                              entry->value.description());
    return {};
  }
  const auto& pair = entry->value.items;
  // An offset below -1 would make a group of two faster than none.
  const auto factor = read_number(item(*entry, pair[0]), {1e-9, 1e9}, reader.messages());
  const auto offset = read_number(item(*entry, pair[1]), {-1.0, 1e9}, reader.messages());
  return {.factor = factor.value_or(1.0), .offset = offset.value_or(0.0)};
}

NetworkDimension read_network(const YamlNode& node, InputMessages& messages) {
  MapReader reader(node, "networks", node.place, messages);
  NetworkDimension network;
  network.measured.emplace();
  network.degree = reader.required_count("size").value_or(1);
  network.measured->filled = reader.optional_choice("filled", kYesOrNo).value_or(false);
  network.bandwidth =
      reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond(1.0));
  network.measured->efficiency = reader.optional_number("efficiency", kShare).value_or(1.0);
  network.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  network.measured->processor_usage =
      reader.optional_number("processor_usage", {0.0, 0.99}).value_or(0.0);
  // In the order of calculon::Operation.
  network.measured->operations = {read_scale(reader, "p2p"), read_scale(reader, "reduce_scatter"),
                                  read_scale(reader, "all_gather"),
                                  read_scale(reader, "all_reduce")};
  reader.finish();
  return network;
}

}  // namespace

Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Machine machine;
  machine.chips = reader.required_count("chips").value_or(1);
  if (const YamlEntry* part = reader.required("matrix")) {
    machine.matrix = read_engine(*part, messages);
  }
  if (const YamlEntry* part = reader.required("vector")) {
    machine.vector = read_engine(*part, messages);
  }
  if (const YamlEntry* part = reader.required("memory")) read_memory(*part, machine, messages);
  if (const YamlEntry* list = reader.required("networks")) {
    const auto& items = list->value.items;
    if (list->value.type != YamlNode::Type::Sequence || items.empty() ||
        items.size() > kMostNetworks) {
      messages.add(
          list->value.place, list->key,
          fmt::format("expected a list of 1 to {} networks, got {}", kMostNetworks,
                      list->value.type == YamlNode::Type::Sequence ? std::to_string(items.size())
                                                                   : list->value.description()));
    } else {
      for (const YamlNode& node : items) machine.network.push_back(read_network(node, messages));
    }
  }
  reader.finish();
  return machine;
}

}  // namespace dfsearch
