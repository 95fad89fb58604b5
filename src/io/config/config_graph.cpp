// `kind: graph`: kernels and tensors by name.

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/units_text.hpp"
#include "graph/dataflow_graph.hpp"
#include "graph/loop_set.hpp"
#include "io/config/workload_text.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

bool is_gemm(KernelKind kind) { return kind == KernelKind::WeightGemm || kind == KernelKind::Gemm; }

/// Whether the counts of loop iterations and stored bytes are within range.
bool is_small(const Kernel& kernel) {
  const double stored = static_cast<double>(kernel.matrices) * static_cast<double>(kernel.m) *
                        static_cast<double>(kernel.k);
  return iterations(kernel) * static_cast<double>(kernel.repeat) < kMostIterations &&
         stored < kMostIterations;
}

/// Refuses more tokens than columns, whose work would take no time.
void check_tokens(const Kernel& kernel, Report& report) {
  if (kernel.tokens == 0) return;
  const bool summed = kernel.tiled == Loop::K;
  const double room =
      static_cast<double>(kernel.outer) * static_cast<double>(summed ? kernel.k : kernel.n);
  if (static_cast<double>(kernel.tokens) <= room) return;
  report.at({&kernel.tokens}, fmt::format("expected at most outer * {} = {}, got {}",
                                          summed ? "K" : "N", to_exact_text(room), kernel.tokens));
}

/// Keys that only some kinds of kernels have; other kinds refuse them.
void check_keys_of_kind(const Kernel& kernel, Report& report) {
  const auto only = [&](const void* member, bool fits, const char* whose) {
    if (fits || !report.given(member)) return;
    report.at_key(member, fmt::format("only valid for {}; remove this key", whose));
  };
  const bool elementwise = is_elementwise(kernel.kind);
  const bool attention = kernel.kind == KernelKind::Attention;
  if (attention && !kernel.attention) report.at_map("missing key 'attention'");
  only(&kernel.attention, attention, "kernels of kind attention");
  only(&kernel.element_flops, elementwise && kernel.mode == Mode::Simd,
       "elementwise kernels of mode simd");
  only(&kernel.matrices, kernel.kind == KernelKind::WeightGemm, "kernels of kind weight_gemm");
  only(&kernel.coupled, elementwise, "elementwise kernels");
  only(&kernel.tokens, is_gemm(kernel.kind), "GEMMs");
  if (elementwise && kernel.mode == Mode::Simd && kernel.k != 1) {
    report.at(
        {&kernel.k},
        fmt::format("expected 1, as an elementwise kernel of mode simd sums over nothing, got {}",
                    kernel.k));
  }
}

/// Checks that the kernel may have steps and that they divide its columns.
void check_steps(const Kernel& kernel, Report& report) {
  if (kernel.steps == 1) return;
  if (kernel.n % kernel.steps != 0) {
    report.at({&kernel.steps, &kernel.n},
              fmt::format("expected a divisor of N = {}, got {}", kernel.n, kernel.steps));
  }
  const bool plain = kernel.spread == Spread::Tensor && kernel.kind != KernelKind::Attention &&
                     kernel.repeat == 1 && kernel.matrices == 0 && kernel.tokens == 0;
  if (!plain) {
    report.at({&kernel.steps},
              "expected 1: only GEMMs and elementwise kernels without 'repeat', 'matrices', "
              "'tokens' and 'spread' have steps");
  }
  if (kernel.tiled != Loop::N && kernel.tiled != Loop::None) {
    report.at({&kernel.steps},
              "expected 1, as only a kernel that is tiled on N or not at all may have steps");
  }
}

class KernelNames {
 public:
  KernelNames(const WorkloadSection& text, Report& report) : text_(text), report_(report) {
    for (std::size_t k = 0; k < text.kernels.size(); ++k) {
      const std::string& name = text.kernels[k].kernel.name;
      if (ids_.emplace(name, KernelId(k)).second) continue;
      report.inside(
          &text.kernels, k, &name,
          fmt::format("another item has the name {}; expected different names", in_quotes(name)));
    }
  }

  /// The kernel of a name; nothing, and a message at this element of a list, for an unknown name.
  template <class List>
  std::optional<KernelId> find(const std::string& name, const List& list, std::size_t index) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    std::string near;
    if (report_.wants_more()) {
      near = suggestion(name, names_of(
                                  text_.kernels, [](const KernelSection& kernel) -> auto& {
                                    return kernel.kernel.name;
                                  }));
    }
    report_.inside(&list, index, &name, "unknown kernel " + in_quotes(name) + near);
    return std::nullopt;
  }

 private:
  const WorkloadSection& text_;
  Report& report_;
  std::unordered_map<std::string_view, KernelId> ids_;
};

/// The tensors of a layer, and the tensors that lead to the next layer.
struct TensorList {
  std::vector<Tensor> tensors, seams;
};

TensorList tensors_of(const WorkloadSection& text, KernelNames& names, Report& report) {
  TensorList made;
  std::vector<bool> has_input(text.kernels.size(), false);
  for (std::size_t t = 0; t < text.tensors.size(); ++t) {
    const TensorSection& tensor = text.tensors[t];
    const auto from = names.find(tensor.from, text.tensors, t);
    const auto to = names.find(tensor.to, text.tensors, t);
    if (!from || !to) continue;
    const int most = most_operands(text.kernels[to->index()].kernel.kind);
    if (tensor.operand && *tensor.operand > most) {
      report.inside(
          &text.tensors, t, &tensor.operand,
          fmt::format("expected a whole number from 1 to {}, got '{}'", most, *tensor.operand));
    }
    const int by_order = has_input[to->index()] ? 2 : 1;
    has_input[to->index()] = true;
    if (tensor.next_layer && tensor.next_step) {
      report.inside(&text.tensors, t, &tensor.next_step,
                    "expected either 'next_layer' or 'next_step', got both");
    }
    (tensor.next_layer || tensor.next_step ? made.seams : made.tensors)
        .push_back({.from = *from,
                    .to = *to,
                    .operand = static_cast<int>(tensor.operand.value_or(by_order)),
                    .value = static_cast<std::int32_t>(tensor.value.value_or(-1)),
                    .rows = tensor.rows,
                    .next_step = tensor.next_step});
  }
  return made;
}

}  // namespace

void check_communication(void* object, Report& report) {
  const auto& [type, bytes, group] = *static_cast<const Communication*>(object);
  if (!group.empty() && !may_have_group(type)) {
    report.at_key(
        &group,
        fmt::format(
            "only valid with the type all_reduce, all_gather or all_to_all, and this is a {}",
            name_of(type)));
  }
  if (is_gradient(type) && report.given(&bytes)) {
    report.at_key(&bytes, fmt::format("not allowed with the type {}, whose size is that of the "
                                      "output of the kernel; remove this key",
                                      name_of(type)));
  } else if (!is_gradient(type) && !report.given(&bytes)) {
    report.at_map("missing key 'bytes'");
  }
}

void resolve_defaults_of_kernel(void* object, Report& report) {
  auto& text = *static_cast<KernelSection*>(object);
  Kernel& kernel = text.kernel;
  kernel.mode = text.mode.value_or(is_elementwise(kernel.kind) ? Mode::Simd : Mode::Systolic);
  if (text.tiled) kernel.tiled = *text.tiled;
  if (!text.communication.empty()) kernel.communication = text.communication.front();
  if (text.communication.size() > 1) kernel.second_communication = text.communication.back();
  // Names go to reports and graph files, line by line.
  if (std::any_of(kernel.name.begin(), kernel.name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    report.at({&kernel.name}, "expected a name without control characters");
  }
  check_keys_of_kind(kernel, report);
  check_tokens(kernel, report);
  check_steps(kernel, report);
  const bool is_read = kernel.kind != KernelKind::Attention || kernel.attention;
  if (is_read && !is_small(kernel)) {
    report.at_map(fmt::format(
        "kernel {} is too large: {} x {} x {} x {} iterations, repeated {} times, expected fewer "
        "than 2^62",
        in_quotes(kernel.name), kernel.outer, kernel.m, kernel.k, kernel.n, kernel.repeat));
  }
}

void resolve_defaults_of_graph(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  Workload& workload = text.workload;
  workload.sequence = text.sequence.value_or(1);
  KernelNames names(text, report);
  if (report.count() > 0) return;
  std::vector<Kernel> kernels;
  for (std::size_t k = 0; k < text.kernels.size(); ++k) {
    const KernelSection& given = text.kernels[k];
    kernels.push_back(given.kernel);
    if (!given.tiled) kernels.back().tiled = text.sequence ? Loop::N : Loop::None;
    const auto refer = [&](const std::string& name) {
      return name.empty() ? std::nullopt : names.find(name, text.kernels, k);
    };
    kernels.back().weight_of = refer(given.weight_of);
    kernels.back().backward_of = refer(given.backward_of);
  }
  TensorList list = tensors_of(text, names, report);
  if (report.count() > 0) return;
  try {
    workload.graph =
        DataflowGraph(std::move(kernels), std::move(list.tensors), std::move(list.seams));
  } catch (const InvalidGraph& error) {
    // The graph has no places, so the message is put at the list with the fault.
    for (const InvalidGraph::Fault& fault : error.faults()) {
      const bool of_tensors = fault.list == InvalidGraph::List::Tensors;
      report.at_key(of_tensors ? static_cast<const void*>(&text.tensors) : &text.kernels,
                    fault.what);
    }
    return;
  }
  check_workload(text, report);
}

void check_shapes(const YamlNode& section, const DataflowGraph& graph, InputMessages& messages) {
  std::size_t t = 0;
  for (const YamlNode& item : section.find("tensors")->value.items) {
    const auto is_set = [&item](const char* key) {
      const YamlEntry* entry = item.find(key);
      return entry && entry->value.scalar == "true";
    };
    if (is_set("next_layer") || is_set("next_step")) continue;
    const std::optional<std::string> wrong = wrong_shape(graph, TensorId(t++));
    if (wrong) messages.add(item.place, "tensors", *wrong);
  }
}

}  // namespace dfsearch
