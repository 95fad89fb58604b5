#include "model/layer/sharding.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {
namespace {

std::int64_t extent(const Kernel& kernel, Loop loop) {
  switch (loop) {
    case Loop::Outer:
      return kernel.outer;
    case Loop::K:
      return kernel.k;
    case Loop::M:
      return kernel.m;
    case Loop::N:
      return kernel.n;
    case Loop::None:
      break;
  }
  return 1;
}

Bytes whole_output_bytes(const Kernel& kernel, Bytes word) {
  return output_bytes(shard_of(kernel, Loop::None, 1, 1), word);
}

/// The time of a communication among the chips of its group.
Seconds time_in_group(const NetworkContext& context, const Communication& own, double steps) {
  const Collectives group = context.machine.group(own.group);
  if (own.type == CommunicationType::AllReduce)
    return group.all_reduce(own.bytes) + steps * group.all_reduce_latency();
  if (own.type == CommunicationType::AllGather)
    return group.all_gather(own.bytes) + steps * group.gather_latency();
  return group.all_to_all(own.bytes) + steps * group.exchange_latency();
}

/// The time of a kernel's own communication; `output` is its output over all tiles.
/// docs/model.md (35), (36)
Seconds own_time(const NetworkContext& context, const Communication& own, double steps,
                 Bytes output) {
  if (!own.group.empty()) return time_in_group(context, own, steps);
  const double chips = static_cast<double>(context.machine.grid().chips());
  const double micro_batches = static_cast<double>(context.micro_batches);
  const Equations& equations = context.problem.equations;
  const bool pays_hops = equations.latency == LatencyRule::Hops;
  const Seconds gradient_latency = pays_hops ? context.data.all_reduce_latency() : Seconds{};
  switch (own.type) {
    case CommunicationType::AllReduce:
      return context.tensor.all_reduce(own.bytes) + steps * context.tensor.all_reduce_latency();
    case CommunicationType::AllGather:
      return context.tensor.all_gather(own.bytes) + steps * context.tensor.gather_latency();
    case CommunicationType::PointToPoint:
      return context.tensor.point_to_point(own.bytes) +
             (pays_hops ? steps * context.tensor.message_latency() : Seconds{});
    case CommunicationType::GradientAllReduce:
      return (context.data.all_reduce(output) + gradient_latency) / micro_batches;
    case CommunicationType::FlatGradientAllReduce:
      return (context.data.flat_all_reduce(output, equations.dlrm_gradient_bandwidth) +
              gradient_latency) /
             micro_batches;
    case CommunicationType::AllToAll:
      return context.machine.all_to_all(own.bytes / chips);
    case CommunicationType::Transpose:
      return context.machine.all_to_all(own.bytes / (chips * chips));
    case CommunicationType::GridBroadcast:
      return context.machine.grid_broadcast(own.bytes);
    case CommunicationType::GridPointToPoint:
      return context.machine.grid_point_to_point(own.bytes);
  }
  return Seconds{};
}

}  // namespace

std::vector<Loop> shardable_loops(const Kernel& kernel) {
  if (kernel.spread != Spread::Tensor) return {Loop::None};
  const auto may = [&kernel](Loop loop) {
    return loop != kernel.tiled && extent(kernel, loop) > 1;
  };
  if (may(Loop::Outer)) return {Loop::Outer};
  if (kernel.kind == KernelKind::Attention) return {Loop::None};  // a head is not split
  std::vector<Loop> loops;
  if (!kernel.has_weight()) loops.push_back(Loop::None);
  for (const Loop loop : {Loop::K, Loop::M, Loop::N}) {
    if (may(loop)) loops.push_back(loop);
  }
  if (loops.empty()) loops.push_back(Loop::None);
  return loops;
}

LoopSet shardable_pairs(const Problem& problem, const Kernel& kernel) {
  const std::vector<Loop> loops = shardable_loops(kernel);
  LoopSet pairs;
  for (const Loop first : loops) {
    pairs.insert(first);
    if (problem.tensor_axes == 1 || kernel.spread != Spread::Tensor) continue;
    for (const Loop second : loops) pairs.insert({first, second});
    pairs.insert({Loop::None, first});
  }
  return pairs;
}

LoopSet pairs_along(LoopSet pairs, const std::vector<Mapping::Dimension>& network) {
  const auto spreads = [](const Mapping::Dimension& d) {
    return d.strategy == Strategy::Tensor && d.degree > 1;
  };
  if (std::count_if(network.begin(), network.end(), spreads) > 1) return pairs;
  LoopSet single;
  for (const LoopPair pair : pairs) {
    if (pair.is_single()) single.insert(pair);
  }
  return single.size() > 0 ? single : pairs;
}

Layout produced_layout(Loop sharding) {
  switch (sharding) {
    case Loop::Outer:
    case Loop::M:
      return Layout::RowSplit;
    case Loop::N:
      return Layout::ColumnSplit;
    case Loop::K:
    case Loop::None:
      break;
  }
  return Layout::Replicated;
}

Layout consumed_layout(const Kernel& consumer, Loop sharding, int operand) {
  if (sharding == Loop::None) return Layout::Replicated;
  if (sharding == Loop::Outer) return Layout::RowSplit;
  // Layouts of the input that sharding M, K and N requires, by the role of the input.
  struct Rule {
    Layout m, k, n;
  };
  Rule rule{.m = Layout::Replicated, .k = Layout::RowSplit, .n = Layout::ColumnSplit};
  if (consumer.tiled == Loop::K) {
    rule = {.m = Layout::RowSplit, .k = Layout::ColumnSplit, .n = Layout::RowSplit};
  } else if (consumer.mode == Mode::Simd) {
    rule = {.m = Layout::RowSplit, .k = Layout::Replicated, .n = Layout::ColumnSplit};
  } else if (consumer.kind == KernelKind::Gemm && operand == 2) {
    rule = {.m = Layout::RowSplit, .k = Layout::ColumnSplit, .n = Layout::Replicated};
  }
  if (sharding == Loop::M) return rule.m;
  return sharding == Loop::K ? rule.k : rule.n;
}

Conversion conversion(Layout from, Layout to) {
  if (from == Layout::Replicated || from == to) return Conversion::Free;
  return to == Layout::Replicated ? Conversion::AllGather : Conversion::AllToAll;
}

bool converts_values(const Problem& problem) {
  return problem.equations.layout_conversion_bytes == ConversionBytes::Full;
}

// A consumer that is split on K reads its own part of the rows, whatever row_use() returns.
Layout wanted_layout(const Problem& problem, const Tensor& tensor, Loop consumer) {
  const DataflowGraph& graph = problem.workload.graph;
  const Layout layout = consumed_layout(graph.kernel(tensor.to), consumer, tensor.operand);
  const bool by_rows = consumer == Loop::Outer || consumer == Loop::M;
  if (layout != Layout::RowSplit || !by_rows || !converts_values(problem)) return layout;
  switch (row_use(graph, tensor)) {
    case RowUse::Same:
      break;
    case RowUse::All:
      return Layout::Replicated;
    case RowUse::Summed:
      return Layout::SumSplit;
  }
  return layout;
}

LayoutPair wanted_layouts(const Problem& problem, const Tensor& tensor, LoopPair consumer) {
  return {wanted_layout(problem, tensor, consumer.loops[0]),
          wanted_layout(problem, tensor, consumer.loops[1])};
}

LayoutPair produced_layouts(LoopPair sharding) {
  return {produced_layout(sharding.loops[0]), produced_layout(sharding.loops[1])};
}

LoopPair kept_loops(const Problem& problem, const Tensor& tensor, LoopPair producer,
                    LoopPair consumer) {
  const LayoutPair wanted = wanted_layouts(problem, tensor, consumer);
  for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
    if (wanted[axis] == Layout::Replicated) producer.loops[axis] = Loop::None;
  }
  return producer;
}

const std::vector<Tensor>& charged_seams(const Problem& problem) {
  static const std::vector<Tensor> kNone;
  const bool charged = problem.equations.layer_seams == LayerSeams::Charged;
  return charged ? problem.workload.graph.seams() : kNone;
}

std::vector<std::vector<TensorId>> converted_together(const Problem& problem) {
  const DataflowGraph& graph = problem.workload.graph;
  if (converts_values(problem)) return graph.values();
  std::vector<std::vector<TensorId>> single;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) single.push_back({TensorId(t)});
  return single;
}

// In a grid, gradients are summed up over the axes first, then over the data group.
// docs/model.md (35)
bool reduces_output(const Kernel& kernel, LoopPair sharding, int tensor_axes) {
  if (!sharding.has(Loop::K)) return false;
  return !kernel.communication || (tensor_axes > 1 && is_gradient(kernel.communication->type));
}

namespace {

/// Whether chips exchange the sums that couple the rows of the kernel.
bool exchanges_coupled(const Problem& problem, const Kernel& kernel, LoopPair sharding) {
  return kernel.coupled > 0 && sharding.has(Loop::M) && converts_values(problem);
}

/// The bytes of coupled sums that a chip sends for `columns` columns.
Bytes coupled_bytes(const Kernel& kernel, std::int64_t columns, Bytes word) {
  return output_bytes({.m = kernel.outer * kernel.coupled, .k = 1, .n = columns}, word);
}

}  // namespace

// docs/model.md (12)
Bytes own_bytes(const Problem& problem, const Kernel& kernel, LoopPair sharding, Bytes word) {
  if (exchanges_coupled(problem, kernel, sharding)) return coupled_bytes(kernel, kernel.n, word);
  return reduces_output(kernel, sharding) ? whole_output_bytes(kernel, word) : Bytes{};
}

// docs/model.md (12)
Bytes conversion_bytes(const Problem& problem, const Tensor& tensor, LoopPair from, LoopPair to,
                       Bytes word) {
  const Conversion needed =
      conversion(produced_layouts(from)[0], wanted_layouts(problem, tensor, to)[0]);
  if (needed == Conversion::Free) return Bytes{};
  return tensor_bytes(problem.workload.graph, tensor, Loop::None, {}, 1, word);
}

namespace {

/// The time in which each chip sends its part of the coupled sums to all others.
Seconds coupled_time(const NetworkContext& context, const Kernel& kernel, LoopPair sharding) {
  if (!exchanges_coupled(context.problem, kernel, sharding)) return Seconds{};
  const Shard tile = shard_of(kernel, sharding, context.machine.grid(), context.tiles);
  const Bytes part = coupled_bytes(kernel, tile.n, context.problem.workload.word);
  const Collectives& group = context.along(sharding, Loop::M);
  const double chips = static_cast<double>(group.members());
  return group.all_gather(chips * part) * static_cast<double>(context.tiles) +
         static_cast<double>(kernel.steps) * group.gather_latency();
}

Seconds collective_time(const NetworkContext& context, const Kernel& kernel, LoopPair sharding) {
  const Bytes word = context.problem.workload.word;
  const ChipGrid& grid = context.machine.grid();
  const double steps = static_cast<double>(kernel.steps);
  Seconds reduced{};
  if (reduces_output(kernel, sharding, context.problem.tensor_axes)) {
    const Bytes output = output_bytes(shard_of(kernel, sharding, grid, context.tiles), word);
    const Collectives& group = context.along(sharding, Loop::K);
    reduced = group.all_reduce(output) * static_cast<double>(context.tiles) +
              steps * group.all_reduce_latency();
  }
  if (!kernel.communication) return reduced;
  const Bytes output = output_bytes(shard_of(kernel, sharding, grid, 1), word);
  const Seconds first = own_time(context, *kernel.communication, steps, output);
  if (!kernel.second_communication) return reduced + first;
  return reduced + std::max(first, own_time(context, *kernel.second_communication, steps, output));
}

}  // namespace

// docs/model.md (34)
Seconds own_network_time(const NetworkContext& context, const Kernel& kernel, LoopPair sharding) {
  return collective_time(context, kernel, sharding) + coupled_time(context, kernel, sharding);
}

namespace {

/// The tensor dimensions of an axis.  A single axis has all of them; of two axes, the first has the
/// innermost dimension of more than one chip, and the second has the others.
Collectives of_axis(const Problem& problem, std::vector<Mapping::Dimension> network,
                    std::size_t axis) {
  bool first_is_full = false;
  for (Mapping::Dimension& d : network) {
    if (d.strategy != Strategy::Tensor || d.degree == 1) continue;
    const bool is_second = first_is_full && problem.tensor_axes > 1;
    first_is_full = true;
    if (is_second != (axis == 1)) d.degree = 1;
  }
  return {problem.system, network, Strategy::Tensor, problem.equations};
}

}  // namespace

NetworkContext::NetworkContext(const Problem& its_problem,
                               const std::vector<Mapping::Dimension>& network,
                               std::int64_t its_tiles, std::int64_t its_micro_batches,
                               ConversionCache* cache)
    : problem(its_problem),
      tensor(problem.system, network, Strategy::Tensor, problem.equations),
      axes{of_axis(problem, network, 0), of_axis(problem, network, 1)},
      nobody({}),
      data(problem.system, network, Strategy::Data, problem.equations),
      machine(problem.system, network, problem.equations, problem.tensor_axes),
      tiles(its_tiles),
      micro_batches(its_micro_batches) {
  if (cache == nullptr || axes[1].members() == 1) return;
  conversions = cache->table(problem.workload.graph, network, tiles);
}

const Collectives& NetworkContext::along(LoopPair sharding, Loop loop) const {
  const bool first = sharding.loops[0] == loop;
  const bool second = sharding.loops[1] == loop;
  if (first && second) return tensor;
  return first ? axes[0] : second ? axes[1] : nobody;
}

LayoutPair NetworkContext::wanted(const Tensor& of, LoopPair consumer) const {
  LayoutPair layouts = wanted_layouts(problem, of, consumer);
  if (axes[1].members() == 1) layouts[1] = Layout::Replicated;
  return layouts;
}

namespace {

/// Whether two tensors of one producer are converted together.
bool is_same_value(const Problem& problem, const Tensor& a, const Tensor& b) {
  return a.value >= 0 && a.value == b.value && converts_values(problem);
}

Seconds least_conversion_time(const NetworkContext& context, const Tensor& tensor,
                              LoopPair producer, LoopSet consumers) {
  Seconds least = Seconds::infinity();
  for (const LoopPair consumer : consumers) {
    least = std::min(least, conversion_time(context, tensor, producer, consumer));
    if (least == Seconds{}) break;
  }
  return least;
}

/// The conversion time of a value, given by its tensor `first`: the sum over the layouts that
/// decided consumers require, where each layout counts once, with the longest time of these
/// consumers.  An undecided consumer may require one of these layouts, so its own least time counts
/// only if it is more than this sum.
Seconds value_time(const NetworkContext& context, TensorId first, LoopPair producer,
                   const LoopSets& sharding) {
  const DataflowGraph& graph = context.problem.workload.graph;
  std::array<Seconds, kLayoutPairs> decided{};
  Seconds undecided{};
  for (const TensorId t : graph.outputs(graph.tensor(first).from)) {
    const Tensor& tensor = graph.tensor(t);
    if (t != first && !is_same_value(context.problem, tensor, graph.tensor(first))) continue;
    const LoopSet loops = sharding[tensor.to.index()];
    if (loops.front() == loops.back()) {
      Seconds& most = decided[index_of(context.wanted(tensor, loops.front()))];
      most = std::max(most, conversion_time(context, tensor, producer, loops.front()));
      continue;
    }
    undecided = std::max(undecided, least_conversion_time(context, tensor, producer, loops));
  }
  return std::max(std::accumulate(decided.begin(), decided.end(), Seconds{}), undecided);
}

/// Whether a tensor, among the outputs of a kernel, is the first one of its value.
bool is_first_of_value(const Problem& problem, std::span<const TensorId> outputs, TensorId t) {
  const DataflowGraph& graph = problem.workload.graph;
  const auto same = std::find_if(outputs.begin(), outputs.end(), [&](TensorId other) {
    return other == t || is_same_value(problem, graph.tensor(other), graph.tensor(t));
  });
  return *same == t;
}

}  // namespace

// docs/model.md (34)
Seconds network_time(const NetworkContext& context, KernelId id, const LoopSets& sharding) {
  const DataflowGraph& graph = context.problem.workload.graph;
  // One chip converts nothing.
  const std::span<const TensorId> converted =
      context.tensor.members() > 1 ? graph.outputs(id) : std::span<const TensorId>{};
  Seconds least = Seconds::infinity();
  for (const LoopPair loop : sharding[id.index()]) {
    const Seconds own = own_network_time(context, graph.kernel(id), loop);
    if (own >= least) continue;
    Seconds conversions{};
    for (const TensorId t : converted) {
      const Tensor& tensor = graph.tensor(t);
      if (tensor.value < 0) {
        conversions += least_conversion_time(context, tensor, loop, sharding[tensor.to.index()]);
      } else if (is_first_of_value(context.problem, graph.outputs(id), t)) {
        conversions += value_time(context, t, loop, sharding);
      }
    }
    for (const Tensor& seam : charged_seams(context.problem)) {
      if (seam.from != id || context.tensor.members() == 1) continue;
      conversions += least_conversion_time(context, seam, loop, sharding[seam.to.index()]);
    }
    least = std::min(least, own + conversions * static_cast<double>(context.tiles));
  }
  return least;
}

}  // namespace dfsearch
