// A config with `equations: calculon`: its sections, and what it says of executions.
//
// Values that are given may contradict each other or the transformer.  What follows from given
// values alone is reported here, where it stands; what only the search can tell, such as a memory
// that is too small, is a result.

#include "io/config/config_calculon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "io/config/config_execution.hpp"
#include "io/config/config_offload.hpp"
#include "io/schema/read_schema.hpp"

namespace dfsearch {
namespace {

using calculon::Communication;
using calculon::ExecutionChoices;
using calculon::Machine;
using calculon::ModelShape;
using calculon::Overlap;
using calculon::Recompute;

ModelShape read_transformer(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  ModelShape transformer;
  transformer.training =
      reader.required_choice<bool>("kind", {{"llm_training", true}, {"llm_prefill", false}})
          .value_or(true);
  transformer.hidden = reader.required_count("hidden").value_or(1);
  transformer.mlp = reader.required_count("mlp").value_or(1);
  transformer.sequence = reader.required_count("sequence").value_or(1);
  transformer.heads = reader.required_count("heads").value_or(1);
  transformer.head_dim = reader.required_count("head_dim").value_or(1);
  transformer.layers = reader.required_count("layers").value_or(1);
  reader.finish();
  return transformer;
}

/// Reads the section, then holds the values against each other.
class ChoicesReader {
 public:
  ChoicesReader(const YamlEntry& section, const ModelShape& transformer, const Machine& machine,
                bool others_are_right, InputMessages& messages)
      : others_are_right_(others_are_right),
        reader_(section, messages),
        transformer_(transformer),
        machine_(machine),
        messages_(messages) {}

  ExecutionChoices read() {
    const std::size_t before = messages_.count();
    choices_.tensor = reader_.optional_count("tensor");
    choices_.pipeline = reader_.optional_count("pipeline");
    choices_.data = reader_.optional_count("data");
    read_networks();
    choices_.maximum_batch = reader_.optional_count("maximum_batch");
    choices_.global_batch = reader_.optional_count("global_batch");
    choices_.micro_batch = reader_.optional_count("micro_batch");
    choices_.chunks = reader_.optional_count("chunks");
    choices_.recompute = reader_.optional_choice(
        "recompute", named({Recompute::Full, Recompute::Attention, Recompute::None}));
    choices_.communication = reader_.optional_choice(
        "communication", named({Communication::AllReduce, Communication::PointToPoint,
                                Communication::ReduceScatter}));
    choices_.overlap =
        reader_.optional_choice("overlap", named({Overlap::None, Overlap::Ring, Overlap::Pipe}));
    choices_.redo = reader_.optional_choice("redo", kYesOrNo);
    choices_.data_overlap = reader_.optional_choice("data_overlap", kYesOrNo);
    choices_.fused = reader_.optional_choice("fused", kYesOrNo).value_or(true);
    choices_.sharding = reader_.optional_choice("sharding", kYesOrNo);
    choices_.offload = read_offload<calculon::Offload>(reader_);
    reader_.finish();
    if (reader_.is_map() && !choices_.maximum_batch && !choices_.global_batch &&
        messages_.count() == before) {
      messages_.add(reader_.place(), "calculon", "missing key 'global_batch' or 'maximum_batch'");
    }
    // Against a transformer or a machine that is wrong nothing can be checked.
    if (others_are_right_ && messages_.count() == before) check();
    if (others_are_right_ && messages_.count() == before) check_domains();
    return choices_;
  }

 private:
  template <class E>
  static Choices<E> named(std::initializer_list<E> values) {
    Choices<E> choices;
    for (const E value : values) choices.emplace_back(calculon::name_of(value), value);
    return choices;
  }

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
        others_are_right_ ? static_cast<std::int64_t>(machine_.networks.size()) : kLargestCount;
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

  /// Points to the first of the keys that is given, or to one that the command line gave.
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
    if (choices_.tensor == 1 && choices_.overlap.value_or(Overlap::None) != Overlap::None) {
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
      wrong({"redo", "communication"}, "expected no, as only communication rs gathers");
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
    if (choices_.offload && choices_.offload->any() && !machine_.second) {
      wrong({"offload"}, "expected none, as the system has no second memory (memory.second)");
    }
  }

  const bool others_are_right_;
  /// A value that is given must be legal beside some of those that are left open.
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
    if (values.empty()) return;  // no degrees are legal, whatever this is
    constexpr std::size_t kMostTold = 12;
    std::string told;
    for (const std::int64_t value : values) {
      if (static_cast<std::size_t>(std::count(told.begin(), told.end(), ',')) + 1 == kMostTold) {
        told += ", ...";
        break;
      }
      told += fmt::format("{}{}", told.empty() ? "" : ", ", value);
    }
    wrong({key}, fmt::format("no degrees allow it, expected one of {}, got {}", told, *given));
  }

  MapReader reader_;
  const ModelShape& transformer_;
  const Machine& machine_;
  InputMessages& messages_;
  ExecutionChoices choices_;
};

}  // namespace

ExecutionChoices read_execution_choices(const YamlEntry& section, const ModelShape& transformer,
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
    config.task.transformer = read_transformer(*section, messages);
  }
  if (const YamlEntry* section = reader.required("system")) {
    config.task.machine = read_calculon_machine(*section, messages);
  }
  const YamlEntry* equations = reader.optional("equations");
  if (equations && equations->value.type == YamlNode::Type::Map) {
    MapReader preset(*equations, messages);
    preset.optional("preset");
    preset.finish();  // there is nothing to switch
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

}  // namespace dfsearch
