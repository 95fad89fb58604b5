#include "model/training/fused_part.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "model/layer/shard.hpp"
#include "model/training/kernel_shares.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/step.hpp"

// The kernels of a part become the graph of a mapping problem with one chip.  The samples of a
// micro-batch stream through the partitions one after the other, so weights are read once for all
// samples.  Partitions, tiles and SRAM follow docs/model.md, section 6.

namespace dfsearch::training {

namespace {

/// The bandwidth of the memory for large transfers.
BytesPerSecond best_bandwidth(const MemoryTier& memory) {
  if (memory.efficiency.steps.empty()) return memory.bandwidth;
  double share = 0.0;
  for (const auto& step : memory.efficiency.steps) share = std::max(share, step.share);
  return memory.bandwidth * share;
}

class ChipGraph {
 public:
  /// Refers to the arguments.
  ChipGraph(const Task& task, const Block& block, const KernelShares& shares, double samples,
            FusedKind kind)
      : task_(task),
        block_(block),
        graph_(block.graph()),
        shares_(shares),
        samples_(samples),
        kind_(kind),
        place_(graph_.kernel_count()) {}

  void build(FusedPass& pass) {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      if (is_here(KernelId(k))) add_kernel(KernelId(k), pass);
    }
    if (kernels_.empty()) return;
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      const Tensor& tensor = graph_.tensor(TensorId(t));
      if (is_here(tensor.from) && is_here(tensor.to)) add_tensor(TensorId(t));
    }
    pass.problem.workload.graph = DataflowGraph(std::move(kernels_), std::move(tensors_));
  }

 private:
  [[nodiscard]] bool is_here(KernelId id) const {
    const Block::Pass pass = block_.pass(id);
    switch (kind_) {
      case FusedKind::Forward:
        return pass == Block::Pass::Forward;
      case FusedKind::Backward:
        return pass == Block::Pass::InputGradient || pass == Block::Pass::WeightGradient;
      case FusedKind::InputGradient:
        return pass == Block::Pass::InputGradient;
      case FusedKind::WeightGradient:
        break;
    }
    return pass == Block::Pass::WeightGradient;
  }

  void add_kernel(KernelId id, FusedPass& pass) {
    const Kernel& whole = graph_.kernel(id);
    const Extents extents = shares_.extents(id);
    const Seconds compute = shares_.compute(id, extents);
    Kernel kernel{.name = whole.name,
                  .kind = whole.kind,
                  .mode = whole.mode,
                  .phase = whole.phase,
                  .tiled = whole.tiled,
                  .outer = extents.outer,
                  .m = extents.m,
                  .k = extents.k,
                  .n = extents.n,
                  .attention = whole.attention,
                  .element_flops = whole.element_flops};
    kernel.streamed_in = read_from_others(id) / samples_;
    const Bytes results = shares_.results(id, extents);
    const bool sums_up = block_.pass(id) == Block::Pass::WeightGradient;
    kernel.streamed_out = left_for_others(id) / samples_;
    if (sums_up) {
      kernel.accumulated = results;
    } else {
      kernel.streamed_out += results / samples_;
    }
    kernel.memory = (shares_.weight(id, extents) + results + left_for_others(id)) / samples_ +
                    kernel.streamed_in;
    const Flops flops = tile_flops(kernel, shard_of(kernel, Loop::None, ChipGrid{}, 1));
    kernel.slowness = compute / samples_ * task_.machine.accelerator.peak() / flops;
    pass.compute += compute;
    pass.moved += kernel.memory * samples_;
    place_[id.index()] = KernelId(kernels_.size());
    kernels_.push_back(std::move(kernel));
  }

  [[nodiscard]] Bytes read_from_others(KernelId id) const {
    Bytes sum{};
    const auto inputs = graph_.inputs(id);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!is_here(graph_.tensor(inputs[i]).from)) sum += shares_.read(id, i);
    }
    return sum;
  }

  /// Bytes of the outputs of a kernel that kernels outside of the pass read; each value counts
  /// once.
  [[nodiscard]] Bytes left_for_others(KernelId id) const {
    Bytes sum{};
    for (const std::size_t v : block_.computed(id)) {
      const auto& tensors = graph_.values()[v];
      const bool leaves = std::any_of(tensors.begin(), tensors.end(),
                                      [&](TensorId t) { return !is_here(graph_.tensor(t).to); });
      if (leaves) sum += shares_.produced(v);
    }
    return sum;
  }

  /// Adds a tensor with the size of its value or of the read part, whichever is larger.
  void add_tensor(TensorId id) {
    const Tensor& whole = graph_.tensor(id);
    const auto inputs = graph_.inputs(whole.to);
    const auto input =
        static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), id) - inputs.begin());
    const Bytes bytes =
        std::max(shares_.produced(block_.value_of(id)), shares_.read(whole.to, input));
    const KernelId from = place_[whole.from.index()];
    const double column = number(kernels_[from.index()].n) * samples_;
    const double rows = std::ceil(bytes / task_.pass.word / column);
    tensors_.push_back({.from = from,
                        .to = place_[whole.to.index()],
                        .operand = whole.operand,
                        .value = static_cast<std::int32_t>(tensors_.size()),
                        .rows = std::max<std::int64_t>(static_cast<std::int64_t>(rows), 1)});
  }

  const Task& task_;
  const Block& block_;
  const DataflowGraph& graph_;
  const KernelShares& shares_;
  const double samples_;
  const FusedKind kind_;
  std::vector<KernelId> place_;  // in the graph of the chip, by kernel of the part
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
};

/// The mapping problem of a chip, without the graph.
Problem chip_problem(const Task& task, const Degrees& degrees) {
  Problem problem;
  problem.workload.word = task.pass.word;
  problem.workload.sequence = ceil_div(task.pass.tokens, degrees[Role::Context]);
  problem.workload.micro_batch = 1;
  problem.system.accelerator = task.machine.accelerator;
  problem.system.memory[0].bandwidth = best_bandwidth(task.machine.memory[0]);
  problem.execution.partitions = task.partitions;
  problem.execution.overlap = task.overlap;
  problem.execution.compute_utilization = 1.0;
  problem.equations.weight_traffic = WeightTraffic::Resident;
  problem.equations.shapes = Shapes::Unchecked;
  problem.sharding = ShardingChoice::LeastBytes;
  return problem;
}

/// The work of a fused pass; `unfused` is its work kernel by kernel, with the same FLOP.
WorkTime work_time(Seconds time, const FusedPass& pass, const WorkTime& unfused, Bytes moved) {
  const bool adds = pass.problem.execution.overlap == Overlap::None;
  return {.time = time,
          .memory = adds ? time - pass.compute : Seconds{},
          .flop = unfused.flop,
          .moved = moved};
}

using WorkTimes = std::array<WorkTime, kFusedKinds.size()>;

/// The profile with these times; kinds of passes that a schedule lacks have times of zero.
BlockProfile with_times(BlockProfile profile, const WorkTimes& times) {
  profile.forward = times[static_cast<std::size_t>(FusedKind::Forward)];
  profile.input_gradient = times[static_cast<std::size_t>(FusedKind::Backward)];
  profile.input_gradient += times[static_cast<std::size_t>(FusedKind::InputGradient)];
  profile.weight_gradient = times[static_cast<std::size_t>(FusedKind::WeightGradient)];
  return profile;
}

}  // namespace

bool has(Schedule schedule, FusedKind kind) {
  if (kind == FusedKind::Forward) return true;
  return (kind == FusedKind::Backward) == (schedule != Schedule::ZeroBubble);
}

const char* name_of(FusedKind kind) {
  constexpr std::array kNames = {"forward", "backward", "input gradients", "weight gradients"};
  return kNames[static_cast<std::size_t>(kind)];
}

FusedPart fused_part(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch) {
  FusedPart part;
  part.samples = number(micro_batch);
  part.profile = profile(task, block, layouts, degrees, micro_batch);
  const KernelShares shares(task, block, layouts, degrees, micro_batch);
  for (const FusedKind kind : kFusedKinds) {
    FusedPass& pass = part.passes[static_cast<std::size_t>(kind)];
    pass.problem = chip_problem(task, degrees);
    ChipGraph(task, block, shares, part.samples, kind).build(pass);
  }
  return part;
}

BlockProfile fused_floor(const FusedPart& part, Schedule schedule) {
  WorkTimes times;
  for (const FusedKind kind : kFusedKinds) {
    if (!has(schedule, kind)) continue;
    const FusedPass& pass = part.passes[static_cast<std::size_t>(kind)];
    const Seconds memory = pass.moved / pass.problem.system.memory[0].bandwidth;
    const Seconds both = pass.problem.execution.overlap == Overlap::None
                             ? pass.compute + memory
                             : std::max(pass.compute, memory);
    times[static_cast<std::size_t>(kind)] =
        work_time(both * kLessRoundings, pass, one_by_one(part, kind), pass.moved);
  }
  return with_times(part.profile, times);
}

WorkTime one_by_one(const FusedPart& part, FusedKind kind) {
  const BlockProfile& profile = part.profile;
  WorkTime both = profile.input_gradient;
  switch (kind) {
    case FusedKind::Forward:
      return profile.forward;
    case FusedKind::Backward:
      both += profile.weight_gradient;
      return both;
    case FusedKind::InputGradient:
      return profile.input_gradient;
    case FusedKind::WeightGradient:
      break;
  }
  return profile.weight_gradient;
}

// docs/training.md (13)
BlockProfile fused(const FusedPart& part, const PartFusion& fusion, Schedule schedule) {
  WorkTimes times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const FusedPass& pass = part.passes[i];
    if (pass.is_empty() || !has(schedule, kFusedKinds[i])) continue;
    const WorkTime unfused = one_by_one(part, kFusedKinds[i]);
    Seconds time = unfused.time;
    Bytes moved = unfused.moved;
    if (fusion[i]) {
      const auto verdict = evaluate(pass.problem, *fusion[i]);
      const auto* cost = std::get_if<dfsearch::Cost>(&verdict);
      if (cost == nullptr) throw InternalError("the fusion of a plan does not fit");
      time = cost->layer_time * part.samples;
      moved = {};
      for (const PartitionCost& each : cost->partitions) moved += each.memory_bytes * part.samples;
    }
    times[i] = work_time(time, pass, unfused, moved);
  }
  return with_times(part.profile, times);
}

const char* name_of(Part part, const Transformer& model) {
  const std::array names = {"layer", model.alternates() ? "full_layer" : "expert_layer", "first",
                            "last"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<FusedSummary> fused_summary(const Task& task, const Plan& plan,
                                        const Fusions& fusions) {
  std::vector<FusedSummary> parts;
  if (task.style == Style::KernelByKernel) return parts;
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  for (const Part part : kParts) {
    if (!blocks[part]) continue;
    const FusedPart whole =
        fused_part(task, *blocks[part], shelf.layouts(part, plan.degrees, plan.layout),
                   plan.degrees, plan.micro_batch);
    for (const FusedKind kind : kFusedKinds) {
      const FusedPass& pass = whole.passes[static_cast<std::size_t>(kind)];
      if (pass.is_empty() || !has(plan.schedule, kind)) continue;
      const std::optional<Mapping>& mapping =
          fusions[static_cast<std::size_t>(part)][static_cast<std::size_t>(kind)];
      FusedSummary summary{
          .part = name_of(part, task.model), .kind = kind, .time = one_by_one(whole, kind).time};
      if (!mapping) {
        parts.push_back(std::move(summary));
        continue;
      }
      const auto verdict = dfsearch::evaluate(pass.problem, *mapping);
      const auto* cost = std::get_if<dfsearch::Cost>(&verdict);
      if (cost == nullptr) throw InternalError("the fusion of a plan does not fit");
      summary.time = cost->layer_time * whole.samples;
      summary.tile = mapping->tile;
      for (const PartitionCost& partition : cost->partitions) {
        FusedSummary::Partition said{.kernels = {},
                                     .time = partition.time * whole.samples,
                                     .bound_by = partition.bound_by,
                                     .sram = partition.sram};
        for (const KernelId k : partition.kernels) {
          said.kernels.push_back(pass.problem.workload.graph.kernel(k).name);
        }
        summary.partitions.push_back(std::move(said));
      }
      parts.push_back(std::move(summary));
    }
  }
  return parts;
}

}  // namespace dfsearch::training
