#include "model/layer/sharding.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "graph/shapes.hpp"

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

/// `output` is that of the kernel over all tiles.
/// docs/model.md (35), (36)
Seconds own_time(const NetworkContext& context, const Communication& own, Bytes output) {
  const double chips = static_cast<double>(context.machine.grid().chips());
  const double micro_batches = static_cast<double>(context.micro_batches);
  const Equations& equations = context.problem.equations;
  const bool pays_hops = equations.latency == LatencyRule::Hops;
  const Seconds gradient_latency = pays_hops ? context.data.all_reduce_latency() : Seconds{};
  switch (own.type) {
    case CommunicationType::AllReduce:
      return context.tensor.all_reduce(own.bytes) + context.tensor.all_reduce_latency();
    case CommunicationType::AllGather:
      return context.tensor.all_gather(own.bytes) + context.tensor.gather_latency();
    case CommunicationType::PointToPoint:
      return context.tensor.point_to_point(own.bytes) +
             (pays_hops ? context.tensor.message_latency() : Seconds{});
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
  // What M, K and N ask of the input, by the role the input plays.
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

// A split on K takes the same part of the rows, whatever they are.
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

bool reduces_output(const Kernel& kernel, Loop sharding) {
  return sharding == Loop::K && !kernel.communication;
}

namespace {

/// Whether chips exchange what couples the rows of the kernel.
bool exchanges_coupled(const Problem& problem, const Kernel& kernel, Loop sharding) {
  return kernel.coupled > 0 && sharding == Loop::M && converts_values(problem);
}

/// What a chip sends of it, for so many columns.
Bytes coupled_bytes(const Kernel& kernel, std::int64_t columns, Bytes word) {
  return output_bytes({.m = kernel.outer * kernel.coupled, .k = 1, .n = columns}, word);
}

}  // namespace

// docs/model.md (12)
Bytes own_bytes(const Problem& problem, const Kernel& kernel, Loop sharding, Bytes word) {
  if (exchanges_coupled(problem, kernel, sharding)) return coupled_bytes(kernel, kernel.n, word);
  return reduces_output(kernel, sharding) ? whole_output_bytes(kernel, word) : Bytes{};
}

// docs/model.md (12)
Bytes conversion_bytes(const Problem& problem, const Tensor& tensor, Loop from, Loop to,
                       Bytes word) {
  const Conversion needed = conversion(produced_layout(from), wanted_layout(problem, tensor, to));
  if (needed == Conversion::Free) return Bytes{};
  return tensor_bytes(problem.workload.graph, tensor, Loop::None, {}, 1, word);
}

namespace {

/// What chips deal out of the tensor as the consumer splits it, in whole units: tokens as columns,
/// heads, rows of a sum, or rows.
// docs/model.md (37)
Bytes bytes_as_wanted(const NetworkContext& context, const Tensor& tensor, Layout wanted,
                      Loop consumer) {
  const DataflowGraph& graph = context.problem.workload.graph;
  const ChipGrid& grid = context.machine.grid();
  const Kernel& to = graph.kernel(tensor.to);
  Kernel part = graph.kernel(tensor.from);
  const std::int64_t rows = graph.rows(tensor);
  part.outer = 1;
  part.m = rows;
  Loop split = Loop::M;
  if (wanted == Layout::ColumnSplit) {
    split = Loop::N;
  } else if (wanted == Layout::SumSplit) {
    part.m = ceil_div(to.m, grid.tensor) * ceil_div(rows, to.m);
    split = Loop::None;
  } else if (consumer == Loop::Outer && !grid.splits_heads) {
    const std::int64_t heads = shared_heads(graph, tensor);
    part.m = std::min(rows, heads_held(to.outer, heads, grid) * ceil_div(rows, heads));
    split = Loop::None;
  }
  return output_bytes(shard_of(part, split, grid, context.tiles), context.problem.workload.word);
}

}  // namespace

// docs/model.md (37)
Seconds conversion_time(const NetworkContext& context, const Tensor& tensor, Loop producer,
                        Loop consumer) {
  const DataflowGraph& graph = context.problem.workload.graph;
  const Layout wanted = wanted_layout(context.problem, tensor, consumer);
  const Layout made = produced_layout(producer);
  const Conversion needed = conversion(made, wanted);
  const bool on_shard = !converts_values(context.problem);
  const bool is_free = needed == Conversion::Free && (on_shard || made != Layout::RowSplit);
  const std::int64_t members = context.tensor.members();
  if (is_free || members == 1) return Seconds{};
  const Bytes word = context.problem.workload.word;
  const Bytes shard =
      tensor_bytes(graph, tensor, producer, context.machine.grid(), context.tiles, word);
  const double chips = static_cast<double>(members);
  const double tiles = static_cast<double>(context.tiles);
  if (needed == Conversion::AllGather) {
    const Bytes whole = tensor_bytes(graph, tensor, Loop::None, {}, context.tiles, word);
    const Bytes gathered = std::min(shard * chips, whole * (chips / (chips - 1.0)));
    return context.tensor.all_gather(on_shard ? shard : gathered) +
           context.tensor.gather_latency() / tiles;
  }
  Seconds exchange;
  if (on_shard) {
    exchange = context.tensor.all_to_all_per_pair(shard);
  } else {
    const Bytes other = bytes_as_wanted(context, tensor, wanted, consumer);
    if (needed == Conversion::Free && other <= shard) return Seconds{};
    exchange = context.tensor.all_to_all(std::max(shard, other));
  }
  return exchange + context.tensor.exchange_latency() / tiles;
}

namespace {

/// Each chip tells all others its part.
Seconds coupled_time(const NetworkContext& context, const Kernel& kernel, Loop sharding) {
  if (!exchanges_coupled(context.problem, kernel, sharding)) return Seconds{};
  const Shard tile = shard_of(kernel, sharding, context.machine.grid(), context.tiles);
  const Bytes part = coupled_bytes(kernel, tile.n, context.problem.workload.word);
  const double chips = static_cast<double>(context.tensor.members());
  return context.tensor.all_gather(chips * part) * static_cast<double>(context.tiles) +
         context.tensor.gather_latency();
}

Seconds collective_time(const NetworkContext& context, const Kernel& kernel, Loop sharding) {
  const Bytes word = context.problem.workload.word;
  const ChipGrid& grid = context.machine.grid();
  if (reduces_output(kernel, sharding)) {
    const Bytes output = output_bytes(shard_of(kernel, sharding, grid, context.tiles), word);
    return context.tensor.all_reduce(output) * static_cast<double>(context.tiles) +
           context.tensor.all_reduce_latency();
  }
  if (!kernel.communication) return Seconds{};
  const Bytes output = output_bytes(shard_of(kernel, sharding, grid, 1), word);
  const Seconds first = own_time(context, *kernel.communication, output);
  if (!kernel.second_communication) return first;
  return std::max(first, own_time(context, *kernel.second_communication, output));
}

}  // namespace

// docs/model.md (34)
Seconds own_network_time(const NetworkContext& context, const Kernel& kernel, Loop sharding) {
  return collective_time(context, kernel, sharding) + coupled_time(context, kernel, sharding);
}

NetworkContext::NetworkContext(const Problem& its_problem,
                               const std::vector<Mapping::Dimension>& network,
                               std::int64_t its_tiles, std::int64_t its_micro_batches)
    : problem(its_problem),
      tensor(problem.system, network, Strategy::Tensor, problem.equations),
      data(problem.system, network, Strategy::Data, problem.equations),
      machine(problem.system, network, problem.equations),
      tiles(its_tiles),
      micro_batches(its_micro_batches) {}

namespace {

/// Whether two tensors of one producer are converted together.
bool is_same_value(const Problem& problem, const Tensor& a, const Tensor& b) {
  return a.value >= 0 && a.value == b.value && converts_values(problem);
}

Seconds least_conversion_time(const NetworkContext& context, const Tensor& tensor, Loop producer,
                              LoopSet consumers) {
  Seconds least = Seconds::infinity();
  for (const Loop consumer : consumers) {
    least = std::min(least, conversion_time(context, tensor, producer, consumer));
  }
  return least;
}

/// What the tensors of one value take, of which `first` is one: once for each layout that a
/// decided consumer wants, for the one that wants most of it.  An undecided one may want any of
/// these, or what it can have for the least by itself.
Seconds value_time(const NetworkContext& context, TensorId first, Loop producer,
                   const LoopSets& sharding) {
  const DataflowGraph& graph = context.problem.workload.graph;
  std::array<Seconds, kLayouts> decided{};
  Seconds undecided{};
  for (const TensorId t : graph.outputs(graph.tensor(first).from)) {
    const Tensor& tensor = graph.tensor(t);
    if (t != first && !is_same_value(context.problem, tensor, graph.tensor(first))) continue;
    const LoopSet loops = sharding[tensor.to.index()];
    if (loops.front() == loops.back()) {
      const Layout wanted = wanted_layout(context.problem, tensor, loops.front());
      Seconds& most = decided[static_cast<std::size_t>(wanted)];
      most = std::max(most, conversion_time(context, tensor, producer, loops.front()));
      continue;
    }
    undecided = std::max(undecided, least_conversion_time(context, tensor, producer, loops));
  }
  return std::max(std::accumulate(decided.begin(), decided.end(), Seconds{}), undecided);
}

/// Of the tensors that a kernel produces those that are the first of their value.
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
  for (const Loop loop : sharding[id.index()]) {
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
    least = std::min(least, own_network_time(context, graph.kernel(id), loop) +
                                conversions * static_cast<double>(context.tiles));
  }
  return least;
}

}  // namespace dfsearch
