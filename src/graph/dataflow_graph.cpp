#include "graph/dataflow_graph.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <cmath>
#include <map>
#include <queue>
#include <unordered_set>
#include <utility>

namespace dfsearch {
namespace {

using List = InvalidGraph::List;

using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

BoostGraph to_boost(const std::vector<Kernel>& kernels, const std::vector<Tensor>& tensors) {
  BoostGraph graph(kernels.size());
  for (const Tensor& tensor : tensors) {
    boost::add_edge(tensor.from.index(), tensor.to.index(), graph);
  }
  return graph;
}

/// Names of the kernels in the largest strongly connected component, for the message about a cycle.
std::string cycle_members(const BoostGraph& graph, const std::vector<Kernel>& kernels) {
  std::vector<int> component(kernels.size());
  const int count = boost::strong_components(
      graph,
      boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<int> size(static_cast<std::size_t>(count), 0);
  for (const int c : component) ++size[static_cast<std::size_t>(c)];
  std::string names;
  int shown = 0;
  const auto largest = std::max_element(size.begin(), size.end()) - size.begin();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (component[i] != largest) continue;
    if (++shown > 8) return names + ", ...";
    names += (names.empty() ? "" : ", ") + kernels[i].name;
  }
  return names;
}

/// Appends the faults of a tensor, or of a seam, to `wrong`.
void check_ends(const std::vector<Kernel>& kernels, const Tensor& tensor, bool is_seam,
                std::vector<InvalidGraph::Fault>& wrong) {
  if (tensor.from.index() >= kernels.size() || tensor.to.index() >= kernels.size()) {
    wrong.push_back({List::Tensors, "a tensor names a kernel that does not exist"});
    return;
  }
  const Kernel& from = kernels[tensor.from.index()];
  const Kernel& to = kernels[tensor.to.index()];
  const auto add = [&](const char* what) {
    wrong.push_back({List::Tensors, from.name + " -> " + to.name + ": " + what});
  };
  if (tensor.from == tensor.to && !is_seam) add("a kernel cannot feed itself");
  if (tensor.operand < 1 || tensor.operand > most_operands(to.kind)) {
    add(to.kind == KernelKind::Attention ? "operand must be 1 to 6" : "operand must be 1 or 2");
  }
  if (tensor.value < 0 && tensor.rows != 0) {
    add("rows: only with 'value', which numbers the part of the output");
  }
  if (tensor.next_step && (from.steps < 2 || from.steps != to.steps)) {
    add("next_step: expected two kernels with the same number of 'steps', at least 2");
  }
  if (is_seam && from.phase != to.phase) {
    add("next_layer, next_step: expected two kernels of the same phase");
  } else if (from.phase == Phase::Backward && to.phase == Phase::Forward) {
    add("a backward kernel cannot feed a forward one");
  }
}

void check_kernels_and_tensors(const std::vector<Kernel>& kernels,
                               const std::vector<Tensor>& tensors,
                               const std::vector<Tensor>& seams) {
  if (kernels.empty()) {
    throw InvalidGraph({{List::Kernels, "the list is empty, expected at least one"}});
  }
  std::vector<InvalidGraph::Fault> wrong;
  std::unordered_set<std::string> names;
  for (const Kernel& kernel : kernels) {
    if (kernel.name.empty()) wrong.push_back({List::Kernels, "a kernel has no name"});
    if (!names.insert(kernel.name).second) {
      wrong.push_back({List::Kernels, "the name '" + kernel.name + "' stands twice"});
    }
    if ((kernel.kind == KernelKind::Attention) != kernel.attention.has_value()) {
      wrong.push_back(
          {List::Kernels,
           kernel.name + ": attention: required for the kind attention, and valid for no other"});
    }
    if (kernel.backward_of &&
        (kernel.phase == Phase::Forward || kernel.backward_of->index() >= kernels.size() ||
         kernels[kernel.backward_of->index()].phase == Phase::Backward)) {
      wrong.push_back(
          {List::Kernels,
           kernel.name + ": backward_of: only in a backward kernel, expected a forward kernel"});
    }
    if (!kernel.weight_of) continue;
    const std::size_t owner = kernel.weight_of->index();
    if (owner >= kernels.size() || !kernels[owner].has_weight() || kernels[owner].weight_of) {
      wrong.push_back(
          {List::Kernels, kernel.name + ": weight_of: expected a kernel with a weight of its own"});
    }
  }
  for (const Tensor& tensor : tensors) check_ends(kernels, tensor, false, wrong);
  for (const Tensor& seam : seams) check_ends(kernels, seam, true, wrong);
  if (!wrong.empty()) throw InvalidGraph(std::move(wrong));
}

template <class End>
void index_adjacency(std::size_t kernels, const std::vector<Tensor>& tensors, End end,
                     std::vector<TensorId>& list, std::vector<std::uint32_t>& begin) {
  begin.assign(kernels + 1, 0);
  for (const Tensor& tensor : tensors) ++begin[end(tensor).index() + 1];
  for (std::size_t k = 0; k < kernels; ++k) begin[k + 1] += begin[k];
  list.resize(tensors.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    list[next[end(tensors[t]).index()]++] = TensorId(t);
  }
}

/// Tensors of one producer with the same number are one value, and must have the same size.
std::vector<std::vector<TensorId>> join_values(const std::vector<Kernel>& kernels,
                                               const std::vector<Tensor>& tensors) {
  std::vector<std::vector<TensorId>> values;
  std::map<std::pair<std::size_t, std::int32_t>, std::size_t> known;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const Tensor& tensor = tensors[t];
    if (tensor.value < 0) {
      values.push_back({TensorId(t)});
      continue;
    }
    const auto [found, is_new] =
        known.try_emplace({tensor.from.index(), tensor.value}, values.size());
    if (is_new) values.emplace_back();
    values[found->second].emplace_back(t);
    if (tensors[values[found->second].front().index()].rows == tensor.rows) continue;
    throw InvalidGraph(
        {{List::Tensors, kernels[tensor.from.index()].name + " -> " +
                             kernels[tensor.to.index()].name +
                             ": rows differ from those of another tensor of the same value"}});
  }
  return values;
}

/// For each kernel with a weight and a `next_step` seam: the first tensor that joins it, in either
/// direction, to the other end of the seam.  The two kernels take turns (docs/model.md, section
/// 14).
std::vector<std::optional<TensorId>> turns_of(const std::vector<Kernel>& kernels,
                                              const std::vector<Tensor>& tensors,
                                              const std::vector<Tensor>& seams) {
  std::vector<std::optional<TensorId>> turns;
  for (const Tensor& seam : seams) {
    if (!seam.next_step) continue;
    turns.resize(kernels.size());
    const auto joins = [&](const Tensor& tensor) {
      return (tensor.from == seam.from && tensor.to == seam.to) ||
             (tensor.from == seam.to && tensor.to == seam.from);
    };
    const auto found = std::find_if(tensors.begin(), tensors.end(), joins);
    if (found == tensors.end()) continue;
    for (const KernelId end : {seam.from, seam.to}) {
      std::optional<TensorId>& turn = turns[end.index()];
      if (kernels[end.index()].has_weight() && !turn) {
        turn = TensorId(static_cast<std::size_t>(found - tensors.begin()));
      }
    }
  }
  return turns;
}

std::vector<std::string> lines_of(const std::vector<InvalidGraph::Fault>& faults) {
  std::vector<std::string> lines;
  for (const InvalidGraph::Fault& fault : faults) {
    lines.push_back((fault.list == List::Kernels ? "kernels: " : "tensors: ") + fault.what);
  }
  return lines;
}

}  // namespace

InvalidGraph::InvalidGraph(std::vector<Fault> faults)
    : InputError(lines_of(faults)), faults_(std::move(faults)) {}

DataflowGraph::DataflowGraph(std::vector<Kernel> kernels, std::vector<Tensor> tensors,
                             std::vector<Tensor> seams)
    : kernels_(std::move(kernels)), tensors_(std::move(tensors)), seams_(std::move(seams)) {
  check_kernels_and_tensors(kernels_, tensors_, seams_);
  values_ = join_values(kernels_, tensors_);
  turns_ = turns_of(kernels_, tensors_, seams_);
  const std::size_t count = kernels_.size();
  index_adjacency(
      count, tensors_, [](const Tensor& t) { return t.to; }, input_tensors_, input_begin_);
  index_adjacency(
      count, tensors_, [](const Tensor& t) { return t.from; }, output_tensors_, output_begin_);

  // Kahn's algorithm with the smallest ready kernel first; boost's
  // topological_sort leaves the order among ready kernels open.
  levels_.assign(count, 0);
  std::vector<std::size_t> missing(count);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t k = 0; k < count; ++k) {
    missing[k] = inputs(KernelId(k)).size();
    if (missing[k] == 0) ready.push(k);
    has_backward_ |= kernels_[k].phase == Phase::Backward;
  }
  while (!ready.empty()) {
    const KernelId kernel(ready.top());
    ready.pop();
    topological_order_.push_back(kernel);
    for (const TensorId t : outputs(kernel)) {
      const std::size_t to = tensors_[t.index()].to.index();
      levels_[to] = std::max(levels_[to], levels_[kernel.index()] + 1);
      if (--missing[to] == 0) ready.push(to);
    }
  }
  if (topological_order_.size() != count) {
    throw InvalidGraph(
        {{List::Tensors, "the kernels " + cycle_members(to_boost(kernels_, tensors_), kernels_) +
                             " form a cycle, expected an acyclic graph"}});
  }
}

std::span<const TensorId> DataflowGraph::inputs(KernelId kernel) const {
  return std::span(input_tensors_)
      .subspan(input_begin_[kernel.index()],
               input_begin_[kernel.index() + 1] - input_begin_[kernel.index()]);
}

std::span<const TensorId> DataflowGraph::outputs(KernelId kernel) const {
  return std::span(output_tensors_)
      .subspan(output_begin_[kernel.index()],
               output_begin_[kernel.index() + 1] - output_begin_[kernel.index()]);
}

// docs/model.md (3)
std::int64_t DataflowGraph::buffer_depth(TensorId tensor) const {
  const Tensor& t = tensors_[tensor.index()];
  return levels_[t.to.index()] - levels_[t.from.index()] + 1;
}

std::int64_t DataflowGraph::rows(const Tensor& tensor) const {
  const Kernel& from = kernels_[tensor.from.index()];
  return tensor.rows > 0 ? tensor.rows : from.outer * from.m;
}

std::int64_t DataflowGraph::wave_steps() const {
  std::int64_t steps = 0;
  for (const Kernel& kernel : kernels_) {
    if (kernel.communication && is_gradient(kernel.communication->type)) continue;
    if (steps != 0 && kernel.steps != steps) return 1;
    steps = kernel.steps;
  }
  return std::max<std::int64_t>(steps, 1);
}

Flops DataflowGraph::flops() const {
  Flops sum{};
  for (const Kernel& kernel : kernels_) sum += kernel_flops(kernel);
  return sum;
}

// docs/model.md (1)
Flops kernel_flops(const Kernel& kernel) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  if (kernel.kind == KernelKind::Attention) {
    // Backward computes four products; the fifth repeats a forward one and is not useful.
    const double products = kernel.phase == Phase::Forward ? 1.0 : 2.0;
    return Flops(2.0 * products * number(kernel.outer) * scored_pairs(kernel) *
                 (number(kernel.k) + number(kernel.m)));
  }
  if (kernel.element_flops > 0) return Flops{};
  double elements = number(kernel.outer) * number(kernel.m) * number(kernel.n);
  double depth = number(kernel.k);
  if (kernel.tokens > 0) {
    const bool summed = kernel.tiled == Loop::K;
    elements = number(kernel.m) * (summed ? number(kernel.n) : number(kernel.tokens));
    if (summed) depth = number(kernel.tokens);
  }
  const bool products = kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm ||
                        kernel.mode == Mode::Systolic;
  return Flops(products ? 2.0 * elements * depth : elements);
}

double scored_pairs(const Kernel& kernel) {
  const Attention& attention = *kernel.attention;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const std::int64_t most =
      attention.window > 0 ? std::min(attention.keys, attention.window) : attention.keys;
  if (!attention.causal) return number(kernel.n) * number(most);
  // The query with number i, from 1, sees before + i keys, at most `most`.
  const std::int64_t before = std::max<std::int64_t>(attention.keys - kernel.n, 0);
  const std::int64_t growing = std::clamp<std::int64_t>(most - before, 0, kernel.n);
  return number(growing) * number(before) + number(growing) * (number(growing) + 1.0) / 2.0 +
         number(kernel.n - growing) * number(most);
}

double iterations(const Kernel& kernel) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  if (kernel.kind == KernelKind::Attention) {
    return number(kernel.outer) * std::max(scored_pairs(kernel), number(kernel.n)) *
           (3.0 * number(kernel.k) + 2.0 * number(kernel.m));
  }
  return number(kernel.outer) * number(kernel.m) * number(kernel.k) * number(kernel.n) *
         std::max(number(kernel.element_flops), 1.0);
}

// docs/model.md (24)
std::int64_t output_depth(const Kernel& kernel) {
  if (kernel.kind != KernelKind::Attention) return kernel.k;
  const double k = static_cast<double>(kernel.k);
  const double m = static_cast<double>(kernel.m);
  const double products = kernel.phase == Phase::Forward ? k + m : 3.0 * k + 2.0 * m;
  return static_cast<std::int64_t>(
      std::ceil(scored_pairs(kernel) * products / (static_cast<double>(kernel.n) * m)));
}

}  // namespace dfsearch
