// `kind: graph`: kernels and tensors by name.

#include "io/config/config_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "graph/shapes.hpp"

namespace dfsearch {
namespace {

constexpr Range<Bytes> kTraffic{Bytes(0.0), Bytes(1e24)};

using KernelNames = std::unordered_map<std::string, KernelId>;

// Elements and tokens; products of a few extents.
constexpr std::int64_t kMostValues = 1'000'000'000;  // numbers of values
constexpr CountRange kElements{.least = 1, .most = std::int64_t{1} << 53};

bool is_gemm(KernelKind kind) { return kind == KernelKind::WeightGemm || kind == KernelKind::Gemm; }
bool is_elementwise(KernelKind kind) {
  return kind == KernelKind::Elementwise || kind == KernelKind::Elementwise2;
}

const std::vector<YamlNode>* read_list(const YamlEntry* entry, InputMessages& messages) {
  if (!entry) return nullptr;
  if (entry->value.type == YamlNode::Type::Sequence) return &entry->value.items;
  messages.add(entry->value.place, entry->key,
               "expected a list, got " + entry->value.description());
  return nullptr;
}

std::optional<Communication> read_communication(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  const auto type = reader.required_choice(
      "type", named({CommunicationType::AllReduce, CommunicationType::AllGather,
                     CommunicationType::PointToPoint, CommunicationType::GradientAllReduce,
                     CommunicationType::FlatGradientAllReduce, CommunicationType::AllToAll,
                     CommunicationType::Transpose, CommunicationType::GridBroadcast,
                     CommunicationType::GridPointToPoint}));
  Communication communication;
  if (type && is_gradient(*type)) {
    if (const YamlEntry* bytes = reader.optional("bytes")) {
      messages.add(bytes->place, "bytes",
                   fmt::format("a {} is as large as the output of the kernel, expected no bytes",
                               name_of(*type)));
    }
  } else {
    communication.bytes = reader.required_quantity<Bytes>("bytes", kTraffic).value_or(Bytes());
  }
  reader.finish();
  if (!type) return std::nullopt;
  communication.type = *type;
  return communication;
}

/// One, or a list of two that run at the same time.
void read_communications(const YamlEntry& entry, Kernel& kernel, InputMessages& messages) {
  if (entry.value.type != YamlNode::Type::Sequence) {
    kernel.communication = read_communication(entry, messages);
    return;
  }
  const std::vector<YamlNode>& items = entry.value.items;
  if (items.empty() || items.size() > 2) {
    messages.add(entry.value.place, entry.key,
                 fmt::format("expected one or two communications, got {}", items.size()));
    return;
  }
  const auto read = [&](const YamlNode& item) {
    return read_communication({.key = entry.key, .place = item.place, .value = item}, messages);
  };
  kernel.communication = read(items[0]);
  if (items.size() == 2) kernel.second_communication = read(items[1]);
}

/// Whether its loops, and what it stores, can be computed with.
bool is_small(const Kernel& kernel) {
  const double stored = static_cast<double>(kernel.matrices) * static_cast<double>(kernel.m) *
                        static_cast<double>(kernel.k);
  return iterations(kernel) * static_cast<double>(kernel.repeat) < kMostIterations &&
         stored < kMostIterations;
}

/// More tokens than there is room for would be work that takes no time.
void check_tokens(MapReader& reader, const Kernel& kernel) {
  if (kernel.tokens == 0) return;
  const bool summed = kernel.tiled == Loop::K;
  const double room =
      static_cast<double>(kernel.outer) * static_cast<double>(summed ? kernel.k : kernel.n);
  if (static_cast<double>(kernel.tokens) <= room) return;
  reader.messages().add(reader.optional("tokens")->value.place, "tokens",
                        fmt::format("expected at most outer * {} = {}, got {}", summed ? "K" : "N",
                                    to_exact_text(room), kernel.tokens));
}

/// The extents; checks that they make a kernel of its kind and of a size that
/// can be computed with.
void read_extents(MapReader& reader, Kernel& kernel) {
  kernel.outer = reader.optional_count("outer").value_or(1);
  kernel.m = reader.optional_count("M").value_or(1);
  kernel.k = reader.optional_count("K").value_or(1);
  kernel.n = reader.optional_count("N").value_or(1);
  kernel.repeat = reader.optional_count("repeat").value_or(1);
  const YamlEntry* k = reader.optional("K");
  if (k && is_elementwise(kernel.kind) && kernel.k != 1) {
    reader.messages().add(
        k->value.place, "K",
        fmt::format("an elementwise kernel has none, expected 1, got {}", kernel.k));
  }
  check_tokens(reader, kernel);
  const bool is_read = kernel.kind != KernelKind::Attention || kernel.attention;
  if (is_read && !is_small(kernel)) {
    reader.messages().add(
        reader.place(), "kernels",
        fmt::format("kernel {} is too large: {} x {} x {} x {} iterations, repeated {} times, "
                    "expected fewer than 2^62",
                    in_quotes(kernel.name), kernel.outer, kernel.m, kernel.k, kernel.n,
                    kernel.repeat));
  }
}

std::optional<Attention> read_attention(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Attention attention;
  attention.keys = reader.required_count("keys").value_or(1);
  attention.window = reader.optional_count("window").value_or(0);
  if (const YamlEntry* causal = reader.optional("causal")) {
    attention.causal = read_flag(*causal, messages).value_or(false);
  }
  reader.finish();
  return attention;
}

/// The keys that only some kinds of kernels have; with those of another kind they are wrong.
void read_keys_of_kind(MapReader& reader, Kernel& kernel) {
  InputMessages& messages = reader.messages();
  const auto of_kind = [&](const char* key, bool fits, const char* whose) -> const YamlEntry* {
    const YamlEntry* entry = reader.optional(key);
    if (!entry || fits) return entry;
    messages.add(entry->place, key, fmt::format("only {}, expected no such key", whose));
    return nullptr;
  };
  const bool is_attention = kernel.kind == KernelKind::Attention;
  if (const auto* section = of_kind("attention", is_attention, "attention has keys")) {
    kernel.attention = read_attention(*section, messages);
  } else if (is_attention) {
    reader.required("attention");
  }
  const bool counts_elements = is_elementwise(kernel.kind) && kernel.mode == Mode::Simd;
  if (const auto* entry = of_kind("element_flops", counts_elements,
                                  "elementwise kernels in SIMD mode count by elements")) {
    kernel.element_flops = read_count(*entry, {}, messages).value_or(0);
  }
  if (const auto* entry = of_kind("matrices", kernel.kind == KernelKind::WeightGemm,
                                  "weight_gemm kernels store matrices")) {
    kernel.matrices = read_count(*entry, {}, messages).value_or(0);
  }
  if (const auto* entry = of_kind("coupled", is_elementwise(kernel.kind),
                                  "elementwise kernels couple their rows")) {
    kernel.coupled = read_count(*entry, kElements, messages).value_or(0);
  }
  if (const auto* entry = of_kind("tokens", is_gemm(kernel.kind), "GEMMs have empty rows")) {
    kernel.tokens = read_count(*entry, kElements, messages).value_or(0);
  }
  kernel.parameters = reader.optional_count("parameters", kElements).value_or(0);
}

/// Empty if it is wrong.  Names go to reports and graph files, line by line.
std::string read_name(const YamlEntry& entry, InputMessages& messages) {
  std::string name = read_word(entry, messages).value_or("");
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  if (printable) return name;
  messages.add(entry.value.place, entry.key, "expected a name without control characters");
  return {};
}

Kernel read_kernel(MapReader& reader, bool has_sequence) {
  InputMessages& messages = reader.messages();
  Kernel kernel;
  if (const YamlEntry* name = reader.required("name")) {
    kernel.name = read_name(*name, messages);
  }
  kernel.kind =
      reader
          .required_choice("kind",
                           named({KernelKind::WeightGemm, KernelKind::Gemm, KernelKind::Elementwise,
                                  KernelKind::Elementwise2, KernelKind::Attention}))
          .value_or(KernelKind::Gemm);
  kernel.mode = reader.optional_choice("mode", named({Mode::Systolic, Mode::Simd}))
                    .value_or(is_elementwise(kernel.kind) ? Mode::Simd : Mode::Systolic);
  kernel.phase = reader.optional_choice("phase", named({Phase::Forward, Phase::Backward}))
                     .value_or(Phase::Forward);
  kernel.tiled =
      reader.optional_choice("tiled", named({Loop::Outer, Loop::M, Loop::K, Loop::N, Loop::None}))
          .value_or(has_sequence ? Loop::N : Loop::None);
  read_keys_of_kind(reader, kernel);
  read_extents(reader, kernel);
  if (const YamlEntry* own = reader.optional("communication")) {
    read_communications(*own, kernel, messages);
  }
  kernel.memory = reader.optional_quantity<Bytes>("memory", kTraffic).value_or(Bytes());
  kernel.sharded_memory =
      reader.optional_quantity<Bytes>("sharded_memory", kTraffic).value_or(Bytes());
  kernel.spread =
      reader.optional_choice("spread", named({Spread::Tensor, Spread::Grid, Spread::Machine}))
          .value_or(Spread::Tensor);
  if (const YamlEntry* skip = reader.optional("skip_weight")) {
    kernel.skip_weight = read_flag(*skip, messages).value_or(false);
  }
  return kernel;
}

std::vector<Kernel> read_kernels(const YamlEntry& list, bool has_sequence, KernelNames& names,
                                 std::vector<PartitionPin>& pins, InputMessages& messages) {
  std::vector<Kernel> kernels;
  const std::vector<YamlNode>* items = read_list(&list, messages);
  if (!items) return kernels;
  for (const YamlNode& item : *items) {
    MapReader reader(item, "kernels", item.place, messages);
    const KernelId id(kernels.size());
    kernels.push_back(read_kernel(reader, has_sequence));
    reader.optional("weight_of");  // once all names are known
    const std::string& name = kernels.back().name;
    const YamlEntry* partition = reader.optional("partition");
    if (partition) {
      if (const auto index = read_count(*partition, {.least = 0}, messages)) {
        pins.push_back({.kernel = id, .partition = *index, .place = partition->value.place});
      }
    }
    reader.finish();
    if (!name.empty() && !names.emplace(name, id).second) {
      messages.add(reader.optional("name")->value.place, "name",
                   fmt::format("the name {} stands twice", in_quotes(name)));
    }
  }
  return kernels;
}

/// A kernel by its name; a wrong one is reported.
std::optional<KernelId> read_end(MapReader& reader, std::string_view key, const KernelNames& names,
                                 const std::vector<Kernel>& kernels) {
  const YamlEntry* entry = reader.required(key);
  if (!entry) return std::nullopt;
  const std::optional<std::string> name = read_word(*entry, reader.messages());
  if (!name) return std::nullopt;
  const auto found = names.find(*name);
  if (found != names.end()) return found->second;
  // A kernel whose own name is wrong has been reported already.
  if (names.size() != kernels.size()) return std::nullopt;
  std::string near;
  if (reader.messages().wants_more()) {
    std::vector<std::string_view> known;
    for (const Kernel& kernel : kernels) known.push_back(kernel.name);
    near = suggestion(*name, known);
  }
  reader.messages().add(entry->value.place, key, "unknown kernel " + in_quotes(*name) + near);
  return std::nullopt;
}

/// Kernels that use the weight of another one, which may stand behind them.
void read_owners(const YamlEntry& list, const KernelNames& names, std::vector<Kernel>& kernels,
                 InputMessages& messages) {
  const std::vector<YamlNode>* items = read_list(&list, messages);
  for (std::size_t k = 0; items && k < kernels.size(); ++k) {
    if (!(*items)[k].find("weight_of")) continue;
    MapReader reader((*items)[k], "kernels", (*items)[k].place, messages);
    kernels[k].weight_of = read_end(reader, "weight_of", names, kernels);
  }
}

struct TensorList {
  std::vector<Tensor> tensors;
  std::vector<Tensor> seams;
};

TensorList read_tensors(const YamlEntry& list, const KernelNames& names,
                        const std::vector<Kernel>& kernels, InputMessages& messages) {
  TensorList read;
  const std::vector<YamlNode>* items = read_list(&list, messages);
  if (!items) return read;
  std::vector<bool> has_input(kernels.size(), false);
  for (const YamlNode& item : *items) {
    MapReader reader(item, "tensors", item.place, messages);
    const std::optional<KernelId> from = read_end(reader, "from", names, kernels);
    const std::optional<KernelId> to = read_end(reader, "to", names, kernels);
    const std::optional<std::int64_t> operand = reader.optional_count(
        "operand",
        {.least = 1, .most = most_operands(to ? kernels[to->index()].kind : KernelKind::Gemm)});
    const std::optional<std::int64_t> value =
        reader.optional_count("value", {.least = 0, .most = kMostValues});
    const std::optional<std::int64_t> rows = reader.optional_count("rows", kElements);
    const YamlEntry* seam = reader.optional("next_layer");
    const bool is_seam = seam && read_flag(*seam, messages).value_or(false);
    reader.finish();
    if (!from || !to) continue;
    const int by_order = has_input[to->index()] ? 2 : 1;
    has_input[to->index()] = true;
    (is_seam ? read.seams : read.tensors)
        .push_back({.from = *from,
                    .to = *to,
                    .operand = operand ? static_cast<int>(*operand) : by_order,
                    .value = static_cast<std::int32_t>(value.value_or(-1)),
                    .rows = rows.value_or(0)});
  }
  return read;
}

}  // namespace

void check_shapes(const YamlNode& section, const DataflowGraph& graph, InputMessages& messages) {
  std::size_t t = 0;
  for (const YamlNode& item : section.find("tensors")->value.items) {
    const YamlEntry* seam = item.find("next_layer");
    if (seam && seam->value.scalar == "true") continue;
    const std::optional<std::string> wrong = wrong_shape(graph, TensorId(t++));
    if (wrong) messages.add(item.place, "tensors", *wrong);
  }
}

void read_graph(MapReader& section, bool has_sequence, Workload& workload,
                std::vector<PartitionPin>& pins) {
  InputMessages& messages = section.messages();
  const std::size_t before = messages.count();
  const YamlEntry* kernel_list = section.required("kernels");
  const YamlEntry* tensor_list = section.required("tensors");
  if (!kernel_list || !tensor_list) return;
  KernelNames names;
  std::vector<Kernel> kernels = read_kernels(*kernel_list, has_sequence, names, pins, messages);
  read_owners(*kernel_list, names, kernels, messages);
  TensorList list = read_tensors(*tensor_list, names, kernels, messages);
  if (messages.count() != before) return;
  try {
    workload.graph =
        DataflowGraph(std::move(kernels), std::move(list.tensors), std::move(list.seams));
  } catch (const InvalidGraph& error) {
    // The graph knows names but no places: point at the list it complains of.
    for (const InvalidGraph::Fault& fault : error.faults()) {
      const bool of_tensors = fault.list == InvalidGraph::List::Tensors;
      messages.add(of_tensors ? tensor_list->place : kernel_list->place,
                   of_tensors ? "tensors" : "kernels", fault.what);
    }
  }
}

}  // namespace dfsearch
