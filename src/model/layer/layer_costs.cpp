#include "model/layer/layer_costs.hpp"

#include <algorithm>
#include <utility>

#include "model/layer/level_traffic.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

namespace {

template <class CostOf>
auto least(LoopSet loops, CostOf cost) {
  auto best = cost(loops.front());
  for (const LoopPair loop : loops) best = std::min(best, cost(loop));
  return best;
}

/// Whether values that exceed the SRAM of all chips are charged, in a graph that works out of core.
/// If kernels run one by one, all values cross memory anyway; HPL and FFT have their own traffic.
// docs/model.md (69)
bool charges_large_values(const Problem& problem) {
  const WorkloadKind kind = problem.workload.kind;
  return problem.workload.out_of_core && problem.equations.out_of_core == OutOfCore::Charged &&
         problem.execution.style == Style::Dataflow && !problem.divides_graph() &&
         kind != WorkloadKind::Hpl && kind != WorkloadKind::Fft;
}

// docs/model.md (69)
bool exceeds_all_sram(const Problem& problem, const Tensor& tensor) {
  const Kernel& from = problem.workload.graph.kernel(tensor.from);
  const std::int64_t rows = tensor.rows > 0 ? tensor.rows : from.outer * from.m;
  return problem.workload.word * (static_cast<double>(rows) * static_cast<double>(from.n)) >
         static_cast<double>(problem.chips_per_copy()) * problem.system.accelerator.sram;
}

}  // namespace

LayerCosts::LayerCosts(const Problem& problem, LayerDecisions decisions, int coarser,
                       CoreOptionsCache* cache)
    : problem_(problem),
      graph_(problem.workload.graph),
      decisions_(std::move(decisions)),
      network_(problem, decisions_.network, tile_count(problem.workload, decisions_.tile),
               step_time(problem, decisions_.network, decisions_.micro_batch).micro_batches,
               cache != nullptr ? &cache->conversions : nullptr),
      bandwidth_(decisions_.spilled ? problem.spilled_bandwidth()
                                    : problem.system.memory[0].bandwidth),
      options_(make_options(cache)),
      of_kernel_(kernel_numbers()) {
  fill_weight_loads();
  fill_tensors();
  if (problem.charges_pieces()) charge_pieces();
  if (problem.execution.levels) fill_levels(cache);
  set_clock(make_clock(coarser));
}

LayerCosts::LayerCosts(const Problem& problem, LayerDecisions decisions, const Clock& clock,
                       CoreOptionsCache* cache)
    : LayerCosts(problem, std::move(decisions), 0, cache) {
  set_clock(clock);
}

void LayerCosts::set_clock(const Clock& clock) {
  clock_ = clock;
  memory_latency_ = clock.ticks(problem_.system.memory[0].latency);
  const std::vector<OnChipLevel>& levels = problem_.system.levels;
  for (std::size_t x = 0; has_levels() && x < levels.size(); ++x) {
    level_latency_[x] = clock.ticks(levels[x].latency);
  }
}

std::vector<LayerCosts::KernelNumbers> LayerCosts::kernel_numbers() const {
  std::vector<KernelNumbers> numbers(graph_.kernel_count());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const KernelId id(i);
    numbers[i] = {.compute = compute_seconds(id),
                  .network = network_time(network_, id, decisions_.sharding),
                  .weight = weight_of(id),
                  .explicit_memory = explicit_bytes_of(id)};
  }
  return numbers;
}

/// Each level has its least time over the loops, whatever loops the other levels choose.
// docs/technology.md (20)
void LayerCosts::fill_levels(CoreOptionsCache* cache) {
  const std::vector<OnChipLevel>& levels = problem_.system.levels;
  if (levels.empty()) return;
  LevelTrafficCache of_this_layer;
  LevelTrafficCache& traffic = cache != nullptr ? cache->levels : of_this_layer;
  level_seconds_.resize(graph_.kernel_count());
  for (std::size_t i = 0; i < level_seconds_.size(); ++i) {
    const Kernel& kernel = graph_.kernels()[i];
    for (std::size_t x = 0; x < levels.size(); ++x) level_seconds_[i][x] = Seconds::infinity();
    for (const LoopPair loop : decisions_.sharding[i]) {
      const Shard whole = shard_of(kernel, loop, network_.machine.grid(), 1);
      const std::vector<Bytes> bytes = traffic.level_bytes(
          kernel, whole, problem_.system.accelerator, levels, problem_.workload.word);
      for (std::size_t x = 0; x < levels.size(); ++x) {
        level_seconds_[i][x] = std::min(level_seconds_[i][x], bytes[x] / levels[x].bandwidth);
      }
    }
  }
}

LevelTicks LayerCosts::level_times(KernelId kernel) const {
  LevelTicks times{};
  if (!has_levels()) return times;
  for (std::size_t x = 0; x < times.size(); ++x) {
    times[x] = clock_.ticks(level_seconds_[kernel.index()][x]);
  }
  return times;
}

// docs/technology.md (20)
LevelTicks LayerCosts::with_latency(LevelTicks traffic) const {
  for (std::size_t x = 0; x < traffic.size(); ++x) {
    if (traffic[x] > 0) traffic[x] = capped_sum(traffic[x], level_latency_[x]);
  }
  return traffic;
}

std::vector<CoreOptionsCache::List> LayerCosts::make_options(CoreOptionsCache* cache) const {
  const auto none = std::make_shared<const std::vector<CoreOption>>();
  std::vector<CoreOptionsCache::List> options(graph_.kernel_count(), none);
  if (problem_.execution.compute_utilization) return options;
  CoreOptionsCache of_this_layer;
  if (cache == nullptr) cache = &of_this_layer;
  std::vector<Shard> shapes;
  for (std::size_t i = 0; i < options.size(); ++i) {
    shapes.clear();
    for (const LoopPair loop : decisions_.sharding[i]) shapes.push_back(shard(KernelId(i), loop));
    options[i] = cache->options(graph_.kernels()[i], shapes, problem_.system.accelerator);
  }
  return options;
}

// The reference is the time of the layer kernel by kernel without overlap: no mapping with these
// decisions takes much longer, and useful mappings take at least a fair part of it.  It does not
// depend on whether the first tier of memory suffices, so that ticks of both cases are comparable.
// docs/model.md (50), (51)
Clock LayerCosts::make_clock(int coarser) const {
  Seconds reference{};
  const BytesPerSecond bandwidth = problem_.spilled_bandwidth();
  for (std::size_t i = 0; i < graph_.kernel_count(); ++i) {
    const KernelId id(i);
    reference += of_kernel_[i].compute + of_kernel_[i].network +
                 (of_kernel_[i].explicit_memory + weight(id) + of_kernel_[i].reload) / bandwidth;
  }
  for (const auto& of_kernel : level_seconds_) {
    for (const Seconds time : of_kernel) reference += time;
  }
  Seconds latency = problem_.system.memory[0].latency;
  if (has_levels()) {
    for (const OnChipLevel& level : problem_.system.levels) latency += level.latency;
  }
  for (const Kernel& kernel : graph_.kernels()) {
    reference += static_cast<double>(kernel.steps) * latency;
  }
  for (const Bytes tile : tile_bytes_) {
    reference += 2.0 * static_cast<double>(network_.tiles) * tile / bandwidth;
  }
  for (const Bytes tile : seam_bytes_) {
    reference += 2.0 * static_cast<double>(network_.tiles) * tile / bandwidth;
  }
  if (problem_.divides_graph()) {
    Bytes all{};
    for (const Bytes tile : tile_bytes_) all += tile;
    const auto stages = static_cast<double>(degree_of(decisions_.network, Strategy::Pipeline));
    reference += 2.0 * stages * handed_on_seconds(all);
  }
  // Kernels that share the cores can take longer than in turn on all cores.
  if (!problem_.execution.compute_utilization) coarser += 3;
  return Clock(reference, coarser);
}

Shard LayerCosts::shard(KernelId kernel) const {
  return shard(kernel, decisions_.sharding[kernel.index()].front());
}

Shard LayerCosts::shard(KernelId kernel, LoopPair loop) const {
  return shard_of(graph_.kernel(kernel), loop, network_.machine.grid(), network_.tiles);
}

// docs/model.md (28)
Seconds LayerCosts::compute_seconds(KernelId id) const {
  const Kernel& kernel = graph_.kernel(id);
  const Accelerator& chip = problem_.system.accelerator;
  const double tiles = static_cast<double>(network_.tiles);
  if (const auto utilization = problem_.execution.compute_utilization) {
    return least(decisions_.sharding[id.index()], [&](LoopPair loop) {
      return tiles * tile_flops(kernel, shard(id, loop)) / (*utilization * chip.peak());
    });
  }
  return tiles * static_cast<double>(options(id).back().cycles) / chip.frequency;
}

Ticks LayerCosts::compute_at_utilization(KernelId kernel) const {
  return clock_.ticks(of_kernel_[kernel.index()].compute);
}

// docs/model.md (30)
Ticks LayerCosts::cycle_time(std::int64_t cycles_per_tile) const {
  return clock_.ticks(static_cast<double>(network_.tiles) * static_cast<double>(cycles_per_tile) /
                      problem_.system.accelerator.frequency);
}

Ticks LayerCosts::network(KernelId kernel) const {
  return clock_.ticks(of_kernel_[kernel.index()].network);
}

// docs/model.md (33)
Ticks LayerCosts::transfer(TensorId tensor) const {
  return always_crosses(tensor) ? 0 : crossing(tensor);
}

Ticks LayerCosts::crossing(TensorId tensor) const {
  return clock_.ticks(static_cast<double>(network_.tiles) * tile_bytes(tensor) / bandwidth_);
}

// docs/model.md (33)
Ticks LayerCosts::seam_transfer(std::size_t seam) const {
  return clock_.ticks(static_cast<double>(network_.tiles) * seam_bytes_[seam] / bandwidth_);
}

// docs/model.md (33)
Ticks LayerCosts::own_memory(KernelId kernel) const {
  return clock_.ticks(of_kernel_[kernel.index()].explicit_memory / bandwidth_);
}

// docs/model.md (33)
Ticks LayerCosts::explicit_memory(KernelId kernel) const {
  Ticks sum = capped_sum(own_memory(kernel), step_latency(kernel));
  const std::vector<Tensor>& seams = charged_seams(problem_);
  for (std::size_t s = 0; s < seams.size(); ++s) {
    if (seams[s].from == kernel) sum += seam_transfer(s);
    if (seams[s].to == kernel) sum += seam_transfer(s);
  }
  if (always_crosses_.empty()) return sum;
  for (const std::span<const TensorId> ends : {graph_.inputs(kernel), graph_.outputs(kernel)}) {
    for (const TensorId t : ends) {
      if (always_crosses(t)) sum = capped_sum(sum, crossing(t));
    }
  }
  return sum;
}

bool LayerCosts::always_crosses(TensorId tensor) const {
  return !always_crosses_.empty() && always_crosses_[tensor.index()];
}

// docs/model.md (38)
Ticks LayerCosts::weight_load(KernelId kernel) const {
  return clock_.ticks(of_kernel_[kernel.index()].weight_load / bandwidth_);
}

// docs/model.md (59)
Ticks LayerCosts::reload(KernelId kernel) const {
  return clock_.ticks(of_kernel_[kernel.index()].reload / bandwidth_);
}

// docs/model.md (60)
Ticks LayerCosts::step_latency(KernelId kernel) const {
  return clock_.ticks(static_cast<double>(graph_.kernel(kernel).steps - 1) *
                      problem_.system.memory[0].latency);
}

// Adds up the least weight of each kernel over the loops left: the sum exceeds the SRAM only if the
// weights exceed it for all decisions that are left.
// docs/model.md (38)
bool LayerCosts::weights_exceed_sram() const {
  const StepTime step = step_time(problem_, decisions_.network, decisions_.micro_batch);
  Bytes sum{};
  for (std::size_t i = 0; i < graph_.kernel_count(); ++i) sum += stored_weight(KernelId(i));
  return sum * static_cast<double>(step.layers_per_stage) > problem_.system.accelerator.sram;
}

/// A sample's share of the weights that a step reads: at most the matrices that the sample uses,
/// and nothing if explicit traffic of the tensor group reads the weight already.
// docs/model.md (38)
Bytes LayerCosts::load_of(KernelId id, LoopPair loop) const {
  const Kernel& kernel = graph_.kernel(id);
  const ChipGrid& grid = network_.machine.grid();
  const Bytes word = problem_.workload.word;
  const Bytes weight = weight_bytes(kernel, loop, grid, word);
  if (problem_.equations.weight_traffic == WeightTraffic::PerSample) return weight;
  if (kernel.sharded_memory > Bytes{}) return Bytes{};
  const std::int64_t batch =
      problem_.workload.global_batch / degree_of(decisions_.network, Strategy::Data);
  return std::min(weight,
                  all_matrices_bytes(kernel, loop, grid, word) / static_cast<double>(batch));
}

// docs/model.md (38)
Seconds LayerCosts::weight_load(KernelId kernel, LoopPair loop) const {
  return load_of(kernel, loop) / bandwidth_;
}

// docs/model.md (38)
bool LayerCosts::loads_weights() const {
  const WeightTraffic traffic = problem_.equations.weight_traffic;
  return traffic == WeightTraffic::PerSample ||
         (traffic == WeightTraffic::PerStep && weights_exceed_sram());
}

// docs/model.md (38)
bool LayerCosts::loads_weights(std::span<const KernelId> stage) const {
  if (!problem_.divides_graph()) return loads_weights();
  const WeightTraffic traffic = problem_.equations.weight_traffic;
  if (traffic != WeightTraffic::PerStep) return traffic == WeightTraffic::PerSample;
  Bytes sum{};
  for (const KernelId kernel : stage) sum += stored_weight(kernel);
  return sum > problem_.system.accelerator.sram;
}

// docs/model.md (54)
Seconds LayerCosts::handed_on_seconds(Bytes tile) const {
  if (!(tile > Bytes{})) return Seconds{};
  const Collectives link(problem_.system, decisions_.network, Strategy::Pipeline,
                         problem_.equations);
  return link.point_to_point(static_cast<double>(network_.tiles) * tile) +
         static_cast<double>(graph_.wave_steps()) * link.message_latency();
}

Ticks LayerCosts::handed_on(Bytes tile) const { return clock_.ticks(handed_on_seconds(tile)); }

// docs/model.md (38)
void LayerCosts::fill_weight_loads() {
  const WeightTraffic traffic = problem_.equations.weight_traffic;
  if (traffic == WeightTraffic::Resident || (!problem_.divides_graph() && !loads_weights())) return;
  for (std::size_t i = 0; i < of_kernel_.size(); ++i) {
    KernelNumbers& own = of_kernel_[i];
    own.weight_load =
        least(decisions_.sharding[i], [&](LoopPair loop) { return load_of(KernelId(i), loop); });
    const Kernel& kernel = graph_.kernels()[i];
    const bool is_read = kernel.steps > 1 && kernel.sharded_memory == Bytes{};
    if (is_read) own.reload = static_cast<double>(kernel.steps) * own.weight - own.weight_load;
  }
}

Bytes LayerCosts::weight_of(KernelId kernel) const {
  return least(decisions_.sharding[kernel.index()], [&](LoopPair loop) {
    return weight_bytes(graph_.kernel(kernel), loop, network_.machine.grid(),
                        problem_.workload.word);
  });
}

Bytes LayerCosts::explicit_bytes_of(KernelId kernel) const {
  return least(decisions_.sharding[kernel.index()], [&](LoopPair loop) {
    return explicit_bytes(graph_, kernel, loop, network_.machine.grid());
  });
}

// docs/model.md (31)
Bytes LayerCosts::resident_weight(KernelId kernel) const {
  const bool free = graph_.kernel(kernel).skip_weight || problem_.workload.out_of_core;
  return free ? Bytes{} : weight(kernel);
}

Bytes LayerCosts::stored_weight(KernelId kernel) const {
  if (problem_.workload.out_of_core) return Bytes{};
  return least(decisions_.sharding[kernel.index()], [&](LoopPair loop) {
    return stored_weight_bytes(graph_.kernel(kernel), loop, network_.machine.grid(),
                               problem_.workload.word);
  });
}

// docs/model.md (26)
Bytes LayerCosts::tile_bytes_of(const Tensor& tensor) const {
  return least(decisions_.sharding[tensor.from.index()], [&](LoopPair loop) {
    return tensor_bytes(graph_, tensor, loop, network_.machine.grid(), network_.tiles,
                        problem_.workload.word);
  });
}

/// The bytes of a tile in a buffer.  Along axes where the consumer reads the whole tile, the buffer
/// holds the whole tile, even if each chip makes a part only.
// docs/model.md (31)
Bytes LayerCosts::buffer_of(const Tensor& tensor) const {
  if (!converts_values(problem_)) return tile_bytes_of(tensor);
  LoopSet kept;
  for (const LoopPair consumer : decisions_.sharding[tensor.to.index()]) {
    for (const LoopPair producer : decisions_.sharding[tensor.from.index()]) {
      kept.insert(kept_loops(problem_, tensor, producer, consumer));
    }
  }
  return least(kept, [&](LoopPair loops) {
    return tensor_bytes(graph_, tensor, loops, network_.machine.grid(), network_.tiles,
                        problem_.workload.word);
  });
}

// docs/model.md (26), (31)
void LayerCosts::fill_tensors() {
  for (const Tensor& tensor : graph_.tensors()) {
    tile_bytes_.push_back(tile_bytes_of(tensor));
    buffers_.push_back(buffer_of(tensor));
  }
  if (charges_large_values(problem_)) {
    for (const Tensor& tensor : graph_.tensors()) {
      always_crosses_.push_back(exceeds_all_sram(problem_, tensor));
    }
  }
  for (const Tensor& seam : charged_seams(problem_)) seam_bytes_.push_back(tile_bytes_of(seam));
  if (problem_.workload.out_of_core) return;
  held_.resize(graph_.kernel_count());
  for (const Tensor& seam : charged_seams(problem_)) {
    const Bytes buffer = 2.0 * buffer_of(seam);
    held_[seam.from.index()].outputs += buffer;
    held_[seam.to.index()].inputs += buffer;
  }
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const Kernel& kernel = graph_.kernels()[i];
    held_[i].inputs += 2.0 * streamed_tile(kernel.streamed_in, network_.tiles);
    held_[i].outputs +=
        2.0 * streamed_tile(kernel.streamed_out, network_.tiles) + kernel.accumulated;
  }
  if (!converts_values(problem_) || network_.tiles <= 2) return;
  for (std::size_t t = 0; t < buffers_.size(); ++t) {
    const Tensor& tensor = graph_.tensors()[t];
    if (!reads_all_tiles(graph_, tensor)) continue;
    held_[tensor.to.index()].inputs += static_cast<double>(network_.tiles - 2) * buffers_[t];
  }
}

/// Adds the traffic of pieces.  Only a kernel that no other kernel can join has pieces, so their
/// traffic belongs to the kernel.  Before all loops are decided it counts as zero, a lower bound.
// docs/model.md (33)
void LayerCosts::charge_pieces() {
  const auto is_decided = [](LoopSet loops) { return loops.size() == 1; };
  const LoopSets& sharding = decisions_.sharding;
  if (!std::all_of(sharding.begin(), sharding.end(), is_decided)) return;
  const bool all = problem_.equations.weight_pieces == WeightPieces::Published;
  for (std::size_t i = 0; i < of_kernel_.size(); ++i) {
    const KernelId id(i);
    const double pieces = lone_kernel(problem_, *this, id).pieces(problem_.system.accelerator.sram);
    if (pieces <= 1.0) continue;
    Bytes again{};
    const auto add = [&](std::span<const TensorId> tensors) {
      for (const TensorId t : tensors) again += static_cast<double>(network_.tiles) * tile_bytes(t);
    };
    add(graph_.inputs(id));
    if (all) add(graph_.outputs(id));
    const std::vector<Tensor>& seams = charged_seams(problem_);
    for (std::size_t s = 0; s < seams.size(); ++s) {
      const bool moves = seams[s].to == id || (all && seams[s].from == id);
      if (moves) again += static_cast<double>(network_.tiles) * seam_bytes_[s];
    }
    again = (pieces - 1.0) * again;
    if (!all) again += weight(id) / static_cast<double>(decisions_.micro_batch);
    of_kernel_[i].explicit_memory += again;
  }
}

// docs/model.md (31)
Bytes LayerCosts::fused_buffer(TensorId tensor) const {
  if (problem_.workload.out_of_core) return Bytes{};
  return static_cast<double>(graph_.buffer_depth(tensor)) * buffers_[tensor.index()];
}

// docs/model.md (31)
Bytes LayerCosts::streamed_buffer(TensorId tensor) const {
  return problem_.workload.out_of_core ? Bytes{} : 2.0 * buffers_[tensor.index()];
}

Bytes LayerCosts::kept(TensorId tensor) const {
  if (problem_.workload.out_of_core) return Bytes{};
  return static_cast<double>(network_.tiles) * tile_bytes(tensor);
}

Bytes LayerCosts::stored(TensorId tensor) const {
  return static_cast<double>(decisions_.micro_batch) * kept(tensor);
}

// docs/model.md (43)
Bytes LayerCosts::stored_seams() const {
  if (problem_.workload.out_of_core) return Bytes{};
  Bytes tiles{};
  for (const Bytes tile : seam_bytes_) tiles += 2.0 * tile;
  return static_cast<double>(decisions_.micro_batch) * static_cast<double>(network_.tiles) * tiles;
}

// docs/model.md (26)
bool reads_all_tiles(const DataflowGraph& graph, const Tensor& tensor) {
  const Kernel& kernel = graph.kernel(tensor.to);
  const bool of_keys = tensor.operand == 2 || tensor.operand == 3;
  return kernel.kind == KernelKind::Attention && kernel.tiled == Loop::N && of_keys;
}

}  // namespace dfsearch
