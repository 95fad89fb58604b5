#include "support/plain_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "support/plain_kernel.hpp"
#include "support/plain_machine.hpp"

namespace dfsearch::test {
namespace {

using namespace plain;

class PlainModel {
 public:
  PlainModel(const Problem& problem, const Mapping& mapping)
      : problem_(problem),
        mapping_(mapping),
        kernels_(problem.workload.graph.kernels()),
        tensors_(problem.workload.graph.tensors()),
        word_(problem.workload.word.in_base_units()),
        bandwidth_(problem.system.memory[0].bandwidth.in_base_units()) {
    for (std::size_t d = 0; d < mapping.network.size(); ++d) {
      degree_[static_cast<std::size_t>(mapping.network[d].strategy)] *=
          number(mapping.network[d].degree);
      const bool is_tensor = mapping.network[d].strategy == Strategy::Tensor;
      const bool is_second = problem.tensor_axes == 2 && is_tensor && axes_[0] > 1.0;
      axis_of_.push_back(is_second ? 1 : 0);
      if (is_tensor) axes_[axis_of_[d]] *= number(mapping.network[d].degree);
    }
  }

  std::optional<PlainCost> cost() {
    if (!decisions_are_legal() || !order_is_legal()) return std::nullopt;
    tiles_ = std::ceil(number(problem_.workload.sequence) / number(mapping_.tile));
    samples_ = number(problem_.workload.global_batch) / degree(Strategy::Data);
    micro_batches_ = samples_ / number(mapping_.micro_batch);
    PlainCost cost;
    if (!fits_in_memory(cost)) return std::nullopt;
    for (std::int64_t p = 0; p < indices(); ++p) {
      const std::vector<std::size_t> members = members_of(p);
      if (members.empty()) continue;
      const auto partition = partition_cost(members);
      if (!partition) return std::nullopt;
      cost.layer += partition->time;
      const bool backward = kernels_[members.front()].phase == Phase::Backward;
      work_[{stage_at(p), backward}] += partition->time;
      cost.partitions.push_back(*partition);
    }
    add_step(cost);
    add_rates(cost);
    return cost;
  }

 private:
  double degree(Strategy strategy) const { return degree_[static_cast<std::size_t>(strategy)]; }
  /// Chips along the axes of the tensor group that are in question: all of them, or those with a
  /// loop.
  using Axes = std::array<double, 2>;
  const std::array<Loop, 2>& loops(KernelId kernel) const {
    return mapping_.sharding[kernel.index()].loops;
  }
  double chips_with(Loop loop, std::size_t kernel, const Axes& axes) const {
    double chips = 1.0;
    for (std::size_t a = 0; a < 2; ++a) chips *= loops(KernelId(kernel))[a] == loop ? axes[a] : 1.0;
    return chips;
  }
  /// Whether the dimension is one of the strategy along these axes.
  bool is_along(std::size_t d, Strategy strategy, const Axes& axes) const {
    if (mapping_.network[d].strategy != strategy || mapping_.network[d].degree == 1) return false;
    return strategy != Strategy::Tensor || axes[axis_of_[d]] > 1.0;
  }
  /// The axes on which the kernel has the loop; the others have one chip.
  Axes axes_with(Loop loop, std::size_t kernel) const {
    Axes axes = axes_;
    for (std::size_t a = 0; a < 2; ++a) {
      if (loops(KernelId(kernel))[a] != loop) axes[a] = 1.0;
    }
    return axes;
  }

  std::int64_t place(std::size_t kernel) const { return mapping_.partition[kernel]; }
  std::int64_t source(const Tensor& t) const { return place(t.from.index()); }
  std::int64_t target(const Tensor& t) const { return place(t.to.index()); }

  std::vector<std::size_t> members_of(std::int64_t partition) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (place(i) == partition) members.push_back(i);
    }
    return members;
  }

  // Section 14: stages that divide the graph, each with a range of partitions.
  bool staged() const { return problem_.execution.stages == Stages::Graph; }
  std::int64_t stage_at(std::int64_t partition) const {
    return staged() ? partition / problem_.partition_limit() : 0;
  }
  std::int64_t stage_of(std::size_t kernel) const { return stage_at(place(kernel)); }
  std::int64_t indices() const {
    const auto stages = static_cast<std::int64_t>(degree(Strategy::Pipeline));
    return problem_.partition_limit() * (staged() ? stages : 1);
  }
  bool leaves_stage(const Tensor& t) const {
    return stage_of(t.from.index()) != stage_of(t.to.index());
  }
  bool is_backward(std::size_t kernel) const { return kernels_[kernel].phase == Phase::Backward; }

  bool stages_are_legal() const {
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(degree(Strategy::Pipeline)); ++s) {
      bool any = false;
      for (std::size_t i = 0; i < kernels_.size(); ++i) any = any || stage_of(i) == s;
      if (!any) return false;
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (place(i) < 0 || place(i) >= indices()) return false;
      if (is_backward(i)) {
        const KernelId forward =
            kernels_[i].backward_of ? *kernels_[i].backward_of : *kernels_[i].weight_of;
        if (stage_of(forward.index()) != stage_of(i)) return false;
      }
      for (std::size_t other = 0; other < kernels_.size(); ++other) {
        if (other == i || stage_of(other) != stage_of(i)) continue;
        if (is_backward(i) && !is_backward(other) && place(i) <= place(other)) return false;
        const bool alone = problem_.execution.style == Style::KernelByKernel;
        if (alone && place(other) == place(i)) return false;
      }
    }
    for (const Tensor& t : tensors_) {
      const bool back = is_backward(t.from.index()) && leaves_stage(t);
      if (back ? source(t) < target(t) : source(t) > target(t)) return false;
    }
    for (const Tensor& s : problem_.workload.graph.seams()) {
      if (s.next_step && staged() && leaves_stage(s)) return false;
    }
    return true;
  }

  /// Bytes that stage s hands the next one for a sample, or the one before.
  double handed_on(std::int64_t s, bool backward) const {
    double bytes = 0.0;
    for (const Tensor& t : tensors_) {
      const std::int64_t from = stage_of(t.from.index());
      const std::int64_t to = stage_of(t.to.index());
      const bool passes = backward ? to < s && s <= from : from <= s && s < to;
      if (passes) bytes += tiles_ * tile_bytes(t);
    }
    if (bytes == 0.0) return 0.0;
    return point_to_point(Strategy::Pipeline, bytes) + wave() * longest_latency(Strategy::Pipeline);
  }

  void add_staged_step(PlainCost& cost) const {
    double sum = 0.0;
    for (std::int64_t s = 0; s < static_cast<std::int64_t>(degree(Strategy::Pipeline)); ++s) {
      double time = 0.0;
      for (const bool backward : {false, true}) {
        const auto found = work_.find({s, backward});
        const double work = found == work_.end() ? 0.0 : found->second;
        const double sent = handed_on(s, backward);
        const bool hidden = problem_.execution.overlap == Overlap::Perfect;
        time += hidden ? std::max(work, sent) : work + sent;
      }
      sum += time;
      cost.slowest_stage = std::max(cost.slowest_stage, time);
    }
    // Every step of every sample goes through the stages behind the one before.
    cost.step = (sum / wave() + (samples_ - 1.0 / wave()) * cost.slowest_stage) /
                number(problem_.workload.copies);
  }

  double wave() const {
    std::set<std::int64_t> steps;
    for (const Kernel& kernel : kernels_) {
      const bool sums_up = kernel.communication && is_gradient(kernel.communication->type);
      if (!sums_up) steps.insert(kernel.steps);
    }
    return steps.size() == 1 ? number(*steps.begin()) : 1.0;
  }

  bool stages_fit_in_memory(PlainCost& cost) {
    const auto stages = static_cast<std::int64_t>(degree(Strategy::Pipeline));
    const double capacity = problem_.system.memory[0].capacity.in_base_units();
    for (std::int64_t s = 0; s < stages; ++s) {
      double weights = 0.0;
      double kept = 0.0;
      for (std::size_t i = 0; i < kernels_.size(); ++i) {
        if (stage_of(i) == s) weights += stored_weight(i);
      }
      if (problem_.workload.graph.has_backward()) {
        for (const Tensor& t : tensors_) {
          const bool waits = is_backward(t.to.index()) && !is_backward(t.from.index());
          if (waits && stage_of(t.to.index()) == s) kept += tiles_ * tile_bytes(t);
        }
        kept *= std::min(samples_, number(stages - s));
      } else {
        for (std::int64_t p = 0; p < indices(); ++p) {
          double alive = 0.0;
          for (const Tensor& t : tensors_) {
            const bool own = !leaves_stage(t) && stage_of(t.from.index()) == s;
            const bool waits = source(t) != target(t) && source(t) <= p && p <= target(t);
            if (own && waits) alive += number(mapping_.micro_batch) * tiles_ * tile_bytes(t);
          }
          kept = std::max(kept, alive);
        }
      }
      if (weights + kept + cost.stored > capacity) return false;
      if (weights + kept <= cost.weights + cost.activations) continue;
      cost.weights = weights;
      cost.activations = kept;
    }
    return true;
  }

  // Sections 3 and 4.
  bool decisions_are_legal() const {
    const Workload& w = problem_.workload;
    if (mapping_.tile < 1 || mapping_.tile > w.sequence) return false;
    if (w.tile && mapping_.tile != *w.tile) return false;
    if (w.micro_batch && mapping_.micro_batch != *w.micro_batch) return false;
    const double split = number(mapping_.micro_batch) * degree(Strategy::Data);
    if (mapping_.micro_batch < 1 || std::fmod(number(w.global_batch), split) != 0.0) return false;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const std::vector<Loop> may = plain_loops(kernels_[i]);
      const auto is_legal = [&](Loop loop) { return std::count(may.begin(), may.end(), loop) > 0; };
      const auto [first, second] = loops(KernelId(i));
      const bool is_grid = problem_.tensor_axes == 2 && kernels_[i].spread == Spread::Tensor;
      const bool pinned = !problem_.sharding_pins.empty() && problem_.sharding_pins[i];
      if (pinned && *problem_.sharding_pins[i] != mapping_.sharding[i]) return false;
      if (first != Loop::None && !is_legal(first)) return false;
      if (second != Loop::None && (!is_grid || !is_legal(second))) return false;
      if (first == second && !is_legal(first)) return false;
      if (second != Loop::None && axes_[1] == 1.0 && !pinned) return false;
    }
    return true;
  }

  bool order_is_legal() const {
    if (staged()) return stages_are_legal();
    const std::int64_t limit = problem_.partition_limit();
    const Execution& execution = problem_.execution;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (place(i) < 0 || place(i) >= limit) return false;
      if (!execution.pins.empty() && execution.pins[i].value_or(place(i)) != place(i)) return false;
    }
    for (const Tensor& t : tensors_) {
      if (source(t) > target(t)) return false;
    }
    if (execution.style == Style::KernelByKernel) {
      std::int64_t next = 0;
      for (const KernelId k : problem_.workload.graph.topological_order()) {
        if (place(k.index()) != next++) return false;
      }
      return true;
    }
    return phases_are_apart();
  }

  bool phases_are_apart() const {
    const bool halves = problem_.equations.phases == SplitPhases::Halves;
    return halves ? phases_keep_to_their_half() : forward_is_over_first();
  }

  bool forward_is_over_first() const {
    for (std::size_t f = 0; f < kernels_.size(); ++f) {
      for (std::size_t b = 0; b < kernels_.size(); ++b) {
        if (kernels_[f].phase == Phase::Backward || kernels_[b].phase == Phase::Forward) continue;
        if (place(f) >= place(b)) return false;
      }
    }
    return true;
  }

  /// Partition p lies between the marks p and p + 1, the middle at limit / 2: a
  /// forward kernel's must begin before it, a backward kernel's end behind it.
  bool phases_keep_to_their_half() const {
    if (!problem_.workload.graph.has_backward()) return true;
    const std::int64_t limit = problem_.partition_limit();
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      const bool backward = kernels_[i].phase == Phase::Backward;
      if (backward ? 2 * (place(i) + 1) <= limit : 2 * place(i) >= limit) return false;
    }
    return true;
  }

  // Section 6.
  Extents extents(std::size_t i, const Axes& axes, double tiles) const {
    return extents(kernels_[i], i, axes, tiles);
  }
  /// Extents of kernel i with other loops.
  Extents extents(const Kernel& kernel, std::size_t i, const Axes& axes, double tiles) const {
    Extents e{number(kernel.outer) * number(kernel.m), depth_of(kernel), number(kernel.n)};
    const auto cut = [&e](Loop loop, double by) {
      if (loop == Loop::Outer || loop == Loop::M) e.m = std::ceil(e.m / by);
      if (loop == Loop::K) e.k = std::ceil(e.k / by);
      if (loop == Loop::N) e.n = std::ceil(e.n / by);
    };
    const PlainGrid grid = plain_grid(problem_, mapping_);
    const bool whole = problem_.equations.shards == Shards::Whole;
    for (const Loop loop : {Loop::Outer, Loop::M, Loop::K, Loop::N}) {
      if (kernel.spread != Spread::Tensor || !mapping_.sharding[i].has(loop)) continue;
      const double chips = chips_with(loop, i, axes);
      if (loop == Loop::Outer && whole) {
        // Matrices are dealt to the chips in turn; a part has an equal number of rows of each.
        const double matrices = number(std::max(kernel.outer, kernels_[i].outer));
        e.m = std::min(e.m, std::ceil(matrices / chips) * std::ceil(e.m / matrices));
      } else {
        cut(loop, chips);
      }
    }
    if (kernel.spread == Spread::Grid) {
      cut(Loop::M, grid.x);
      cut(Loop::K, grid.y);
    }
    if (kernel.spread == Spread::Machine) cut(Loop::N, grid.x * grid.y);
    cut(kernel.tiled, tiles);
    return e;
  }
  Extents tile(std::size_t i) const { return extents(i, axes_, tiles_); }

  double tile_bytes(const Tensor& t) const {
    const std::size_t i = t.from.index();
    const Extents e = extents(carried(t, kernels_[i]), i, axes_, tiles_);
    return e.m * e.n * word_;
  }

  /// A tile as it is made, or as it is read where every chip reads all of it.
  double buffer(const Tensor& t) const {
    const double made = tile_bytes(t);
    if (!by_value(problem_)) return made;
    Axes split = axes_;
    for (std::size_t a = 0; a < 2; ++a) {
      if (wanted(problem_, t, loops(t.to)[a]) == "RR") split[a] = 1.0;
    }
    const std::size_t i = t.from.index();
    const Extents e = extents(carried(t, kernels_[i]), i, split, tiles_);
    return std::max(made, e.m * e.n * word_);
  }

  /// Keys and values of the tokens of more than two tiles.
  double kept_keys(const Tensor& t) const {
    const Kernel& to = kernels_[t.to.index()];
    const bool read_again = to.kind == KernelKind::Attention && to.tiled == Loop::N &&
                            (t.operand == 2 || t.operand == 3) && by_value(problem_);
    return read_again ? std::max(0.0, tiles_ - 2.0) * buffer(t) : 0.0;
  }

  double stored_weight(std::size_t i) const {
    if (kernels_[i].weight_of) return 0.0;
    return all_matrices(i) + number(kernels_[i].parameters) * word_;
  }

  double all_matrices(std::size_t i) const {
    Kernel all = kernels_[i];
    if (all.kind != KernelKind::WeightGemm) return 0.0;
    if (all.matrices > 0) all.outer = all.matrices;
    const Extents e = extents(all, i, axes_, 1.0);
    return e.m * e.k * word_;
  }

  /// The share of the traffic of a tensor group that is a chip's.
  double held(std::size_t i) const {
    const double degree = this->degree(Strategy::Tensor);
    if (problem_.equations.shards == Shards::Even) return 1.0 / degree;
    const Extents one = extents(i, axes_, 1.0);
    const Kernel& kernel = kernels_[i];
    for (const Tensor& t : tensors_) {
      const double shared = heads_of(t, kernels_[t.from.index()], kernel);
      if (t.to.index() != i || !mapping_.sharding[i].has(Loop::Outer)) continue;
      if (shared != number(kernel.outer)) {
        const double chips = chips_with(Loop::Outer, i, axes_);
        return most_heads(number(kernel.outer), shared, chips) / shared;
      }
    }
    const double rows = number(kernel.outer) * number(kernel.m);
    const double share = one.m / rows * (one.k / depth_of(kernel));
    const bool is_weight =
        kernel.kind == KernelKind::WeightGemm && kernel.spread != Spread::Machine;
    return is_weight ? share : share * one.n / number(kernel.n);
  }

  double weight(std::size_t i) const {
    if (kernels_[i].kind != KernelKind::WeightGemm) return 0.0;
    const Extents e = extents(i, axes_, 1.0);
    return e.m * e.k * word_;
  }

  // Traffic that loading the weight adds to a sample (38).
  double loaded_weight(std::size_t i) const {
    const WeightTraffic traffic = problem_.equations.weight_traffic;
    if (traffic == WeightTraffic::PerSample) return weight(i);
    if (kernels_[i].sharded_memory > Bytes{} || !loads(i)) return 0.0;
    const double samples = number(problem_.workload.global_batch) / degree(Strategy::Data);
    return std::min(weight(i), all_matrices(i) / samples);
  }

  // Whether the weights of its stage are read from memory.
  bool loads(std::size_t i) const {
    const WeightTraffic traffic = problem_.equations.weight_traffic;
    if (traffic == WeightTraffic::PerSample) return true;
    if (traffic == WeightTraffic::Resident || problem_.workload.out_of_core) return false;
    double of_stage = 0.0;
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (stage_of(k) == stage_of(i)) of_stage += stored_weight(k);
    }
    const double layers = number(problem_.workload.layers);
    of_stage *= std::ceil(layers / degree(Strategy::Pipeline));
    return of_stage > problem_.system.accelerator.sram.in_base_units();
  }

  std::optional<PlainPartition> partition_cost(const std::vector<std::size_t>& members) const {
    const bool first = kernels_[members.front()].repeat > 1;
    for (const std::size_t i : members) {
      if ((kernels_[i].repeat > 1) != first) return std::nullopt;
    }
    const auto compute = compute_time(members);
    const auto sram = sram_of(members);
    if (!compute || !sram) return std::nullopt;

    PlainPartition result{.compute = std::max(*compute, slowest_level(members)), .sram = *sram};
    double weights = 0.0;
    for (const std::size_t i : members) {
      result.network += network_time(i);
      result.memory += kernels_[i].memory.in_base_units() / bandwidth_;
      result.memory += kernels_[i].sharded_memory.in_base_units() * held(i) / bandwidth_;
      result.memory += reloaded(i) / bandwidth_;
      result.waiting += (steps_of(i) - 1.0) * problem_.system.memory[0].latency.in_base_units();
      weights += loaded_weight(i) / bandwidth_;
    }
    const std::int64_t p = place(members.front());
    for (const Tensor& t : tensors_) {
      if (source(t) != p && target(t) != p) continue;
      if (leaves_stage(t)) continue;
      const double once = tiles_ * tile_bytes(t) / bandwidth_;
      if (source(t) != target(t)) {
        result.memory += once;
      } else if (no_sram_holds(t)) {
        result.memory += 2.0 * once;
      }
    }
    for (const Tensor& s : seams(problem_)) {
      if (source(s) == p) result.memory += tiles_ * tile_bytes(s) / bandwidth_;
      if (target(s) == p) result.memory += tiles_ * tile_bytes(s) / bandwidth_;
    }
    if (members.size() == 1) result.memory += again_for_pieces(members.front()) / bandwidth_;
    if (result.memory + result.waiting > 0.0) {
      result.waiting += problem_.system.memory[0].latency.in_base_units();
      result.memory += result.waiting;
    }
    const double& c = result.compute;
    const double& m = result.memory;
    const double& n = result.network;
    switch (problem_.execution.overlap) {
      case Overlap::Perfect:
        result.time = std::max(c, std::max(m, n));
        break;
      case Overlap::None:
        result.time = c + m + n;
        break;
      case Overlap::ComputeMemory:
        result.time = std::max(c, m) + n;
        break;
    }
    result.time += weights;
    result.memory += weights;
    return result;
  }

  // Values that cross memory inside a partition, too (69).
  bool no_sram_holds(const Tensor& t) const {
    const WorkloadKind kind = problem_.workload.kind;
    if (!problem_.workload.out_of_core || problem_.equations.out_of_core == OutOfCore::Free ||
        problem_.divides_graph() || kind == WorkloadKind::Hpl || kind == WorkloadKind::Fft) {
      return false;
    }
    const Kernel& from = kernels_[t.from.index()];
    const double rows = number(t.rows > 0 ? t.rows : from.outer * from.m);
    const double chips = number(problem_.system.chips) / number(problem_.workload.copies);
    return word_ * rows * number(from.n) > chips * problem_.system.accelerator.sram.in_base_units();
  }

  // Traffic that a kernel with a cut weight adds to its traffic without cuts (32), (33).
  double again_for_pieces(std::size_t i) const {
    const WeightPieces rule = problem_.equations.weight_pieces;
    const bool streams = problem_.execution.style == Style::KernelByKernel &&
                         problem_.equations.lone_kernels == LoneKernels::Streamed;
    if (rule == WeightPieces::Free || streams || problem_.workload.out_of_core) return 0.0;
    if (kernels_[i].kind != KernelKind::WeightGemm) return 0.0;
    double stays = 0.0;  // in the SRAM beside every piece
    double shared = kernels_[i].skip_weight ? 0.0 : weight(i);
    double in = 0.0;
    double out = 0.0;
    const KernelId id(i);
    for (const Tensor& t : tensors_) {
      if (t.to == id) stays += 2.0 * buffer(t) + kept_keys(t);
      if (t.to == id) in += tiles_ * tile_bytes(t);
      if (t.from == id) shared += 2.0 * buffer(t);
      if (t.from == id) out += tiles_ * tile_bytes(t);
    }
    for (const Tensor& s : seams(problem_)) {
      if (s.to == id) stays += 2.0 * buffer(s);
      if (s.to == id) in += tiles_ * tile_bytes(s);
      if (s.from == id) shared += 2.0 * buffer(s);
      if (s.from == id) out += tiles_ * tile_bytes(s);
    }
    const double sram = problem_.system.accelerator.sram.in_base_units();
    if (stays + shared <= sram || stays >= sram) return 0.0;
    double pieces = 2.0;
    while (stays + shared / pieces > sram) pieces += 1.0;
    if (rule == WeightPieces::Published) return (pieces - 1.0) * (in + out);
    return (pieces - 1.0) * in + weight(i) / number(mapping_.micro_batch);
  }

  std::optional<double> sram_of(const std::vector<std::size_t>& members) const {
    if (problem_.workload.out_of_core) return 0.0;
    const std::int64_t p = place(members.front());
    double inputs = 0.0;
    double rest = 0.0;
    for (const Tensor& t : tensors_) {
      const bool from = source(t) == p;
      const bool to = target(t) == p;
      if (from && to) {
        rest += (longest_path_to(t.to) - longest_path_to(t.from) + 1.0) * buffer(t);
      }
      if (from && !to) rest += 2.0 * buffer(t);
      if (!from && to) inputs += 2.0 * buffer(t);
      if (to) inputs += kept_keys(t);
    }
    for (const Tensor& s : seams(problem_)) {
      if (source(s) == p) rest += 2.0 * buffer(s);
      if (target(s) == p) inputs += 2.0 * buffer(s);
    }
    double weights = 0.0;
    for (const std::size_t i : members) weights += kernels_[i].skip_weight ? 0.0 : weight(i);
    const double available = problem_.system.accelerator.sram.in_base_units();
    const double sum = inputs + rest + weights;
    const bool streams = problem_.execution.style == Style::KernelByKernel &&
                         problem_.equations.lone_kernels == LoneKernels::Streamed;
    if (streams) return std::min(sum, available);
    const bool can_be_cut = members.size() == 1 &&
                            kernels_[members.front()].kind == KernelKind::WeightGemm &&
                            inputs < available;
    if (sum <= available || can_be_cut) return sum;
    // The SRAM limits no kernel alone where pieces of any size may stream through it for nothing.
    const bool limits_alone = problem_.equations.lone_kernels == LoneKernels::Whole ||
                              problem_.equations.weight_pieces != WeightPieces::Free;
    if (members.size() > 1 || limits_alone) return std::nullopt;
    return available;
  }

  double longest_path_to(KernelId kernel) const {
    double longest = 0.0;
    for (const Tensor& t : tensors_) {
      if (t.to == kernel) longest = std::max(longest, longest_path_to(t.from) + 1.0);
    }
    return longest;
  }

  std::optional<double> compute_time(const std::vector<std::size_t>& members) const {
    const Accelerator& chip = problem_.system.accelerator;
    if (number(static_cast<std::int64_t>(members.size())) > number(chip.cores)) return {};
    const double frequency = chip.frequency.in_base_units();
    if (problem_.execution.compute_utilization) {
      double flop = 0.0;
      for (const std::size_t i : members) flop += tile_flop(i);
      const double peak = 2.0 * number(chip.lanes * chip.stages * chip.cores) * frequency;
      return tiles_ * flop / (*problem_.execution.compute_utilization * peak);
    }
    const double slowest = mapping_.cores.empty() ? best_pace(members) : given_pace(members);
    if (slowest == std::numeric_limits<double>::infinity()) return std::nullopt;
    return slowest * tiles_ / frequency;
  }

  // Time of the slowest level of the chip, if levels take time.
  double slowest_level(const std::vector<std::size_t>& members) const {
    double slowest = 0.0;
    const std::vector<OnChipLevel>& levels = problem_.system.levels;
    for (std::size_t x = 0; problem_.execution.levels && x < levels.size(); ++x) {
      double words = 0.0;
      for (const std::size_t i : members) words += level_words(i, x);
      slowest = std::max(slowest, words * word_ / levels[x].bandwidth.in_base_units() +
                                      levels[x].latency.in_base_units());
    }
    return slowest;
  }

  double level_words(std::size_t i, std::size_t x) const {
    const Kernel& kernel = kernels_[i];
    const Accelerator& chip = problem_.system.accelerator;
    const auto [m, k, all] = extents(i, axes_, 1.0);
    const double n = std::ceil(all / steps_of(i));
    const double repeat = number(kernel.repeat) * steps_of(i);
    if (kernel.mode == Mode::Simd || k == 1.0) {
      const bool two = kernel.kind == KernelKind::Gemm || kernel.kind == KernelKind::Elementwise2;
      return repeat * (two ? 3.0 : 2.0) * m * n;
    }
    if (x == 0 && chip.dataflow != Dataflow::Output) {
      const double past = chip.dataflow == Dataflow::Weight ? std::ceil(n / number(chip.stages))
                                                            : std::ceil(m / number(chip.lanes));
      return repeat *
             (m * k * n / past + m * k * n / number(chip.lanes) + m * k * n / number(chip.stages));
    }
    if (x == 0) {
      return repeat * (m * k * std::ceil(n / number(chip.stages)) +
                       k * n * std::ceil(m / number(chip.lanes)) + m * n);
    }
    const double inner = std::floor(problem_.system.levels[x - 1].share.in_base_units() / word_);
    return repeat * best_tile(m, k, n, inner);
  }

  // Every tile of every operand.
  static double best_tile(double m, double k, double n, double inner) {
    double best = std::numeric_limits<double>::infinity();
    const auto stay = [&](double rows, double columns, auto words) {
      for (double a = 1.0; a <= rows; ++a) {
        for (double b = 1.0; b <= columns && a + b + a * b <= inner; ++b) {
          best = std::min(best, words(a, b));
        }
      }
    };
    stay(m, n, [&](double a, double b) {
      return m * n + m * k * std::ceil(n / b) + k * n * std::ceil(m / a);
    });
    stay(k, n, [&](double a, double b) {
      return k * n + m * k * std::ceil(n / b) + m * n * (2.0 * std::ceil(k / a) - 1.0);
    });
    stay(m, k, [&](double a, double b) {
      return m * k + k * n * std::ceil(m / a) + m * n * (2.0 * std::ceil(k / b) - 1.0);
    });
    return best;
  }

  // Section 14: in how many steps of how many columns each a tile is done.
  double steps_of(std::size_t i) const { return number(kernels_[i].steps); }
  double steps_of_tile(std::size_t i) const {
    return kernels_[i].tiled == Loop::N ? std::ceil(steps_of(i) / tiles_) : steps_of(i);
  }

  /// The kernels that wait for each other from step to step, a weight's reader and its partner.
  std::optional<std::size_t> partner(std::size_t i) const {
    for (const Tensor& s : problem_.workload.graph.seams()) {
      const bool here = s.from.index() == i || s.to.index() == i;
      if (!s.next_step || !here) continue;
      const std::size_t other = s.from.index() == i ? s.to.index() : s.from.index();
      for (const Tensor& t : tensors_) {
        if ((t.from.index() == i && t.to.index() == other) ||
            (t.to.index() == i && t.from.index() == other)) {
          return other;
        }
      }
    }
    return std::nullopt;
  }

  /// The bytes of a weight that its steps read again.
  double reloaded(std::size_t i) const {
    const Kernel& kernel = kernels_[i];
    if (kernel.steps == 1 || kernel.kind != KernelKind::WeightGemm) return 0.0;
    if (kernel.sharded_memory > Bytes{} || !loads(i)) return 0.0;
    const auto other = partner(i);
    if (other && place(*other) == place(i)) return 0.0;
    return steps_of(i) * weight(i) - loaded_weight(i);
  }

  double tile_flop(std::size_t i) const {
    Extents e = tile(i);
    e.n = steps_of_tile(i) * std::ceil(e.n / steps_of_tile(i));
    const double once = kernels_[i].mode == Mode::Systolic ? 2.0 * e.m * e.k * e.n : e.m * e.n;
    return kernels_[i].slowness * (times(kernels_[i]) * once);
  }

  double cycles(std::size_t i, std::int64_t lanes, std::int64_t stages) const {
    const Accelerator& chip = problem_.system.accelerator;
    Extents e = tile(i);
    const double steps = steps_of_tile(i);
    e.n = std::ceil(e.n / steps);
    const auto blocks = [&](double rows, double columns) {
      return std::ceil(rows / number(lanes * chip.lanes)) *
             std::ceil(columns / number(stages * chip.stages));
    };
    if (kernels_[i].mode != Mode::Systolic) {
      return std::ceil(kernels_[i].cycle_scale *
                       (steps * times(kernels_[i]) * blocks(e.m, 1.0) * e.n));
    }
    const double output = blocks(e.m, e.n) * e.k;
    const double rows = kernels_[i].loads_arrays ? std::min(e.k, number(chip.stages)) : 0.0;
    const double weight = blocks(e.m, e.k) * (e.n + rows);
    const double input = blocks(e.n, e.k) * (e.m + rows);
    const Dataflow chosen = chip.dataflow;
    const double once = chosen == Dataflow::Output   ? output
                        : chosen == Dataflow::Weight ? weight
                        : chosen == Dataflow::Input  ? input
                                                     : std::min({output, weight, input});
    return std::ceil(kernels_[i].cycle_scale * (steps * times(kernels_[i]) * once));
  }

  double given_pace(const std::vector<std::size_t>& members) const {
    std::int64_t used = 0;
    double slowest = 0.0;
    for (const std::size_t i : members) {
      const CoreGrid grid = mapping_.cores[i];
      used += grid.lanes * grid.stages;
      slowest = std::max(slowest, cycles(i, grid.lanes, grid.stages));
    }
    if (used > problem_.system.accelerator.cores) return std::numeric_limits<double>::infinity();
    return slowest;
  }

  /// The least number of cores with which the kernel keeps the pace.
  std::int64_t cores_needed(std::size_t i, double pace) const {
    const std::int64_t limit = problem_.system.accelerator.cores;
    std::int64_t least = limit + 1;
    for (std::int64_t lanes = 1; lanes <= limit; ++lanes) {
      const std::int64_t highest = kernels_[i].mode == Mode::Systolic ? limit / lanes : 1;
      for (std::int64_t stages = 1; stages <= highest; ++stages) {
        if (cycles(i, lanes, stages) <= pace) least = std::min(least, lanes * stages);
      }
    }
    return least;
  }

  /// The least pace that the cores allow is the cycles of some kernel on some
  /// grid: tries them all.
  double best_pace(const std::vector<std::size_t>& members) const {
    const std::int64_t limit = problem_.system.accelerator.cores;
    double best = std::numeric_limits<double>::infinity();
    for (const std::size_t i : members) {
      for (std::int64_t lanes = 1; lanes <= limit; ++lanes) {
        for (std::int64_t stages = 1; lanes * stages <= limit; ++stages) {
          const double pace = cycles(i, lanes, stages);
          if (pace >= best) continue;
          std::int64_t used = 0;
          for (const std::size_t j : members) used += cores_needed(j, pace);
          if (used <= limit) best = pace;
        }
      }
    }
    return best;
  }

  // Section 5.
  double all_gather(Strategy strategy, double whole) const {
    return all_gather(strategy, whole, axes_);
  }
  bool has_both_ways(std::size_t d) const {
    const NetworkDimension& link = problem_.system.network[d];
    const bool is_torus = link.both_ways && problem_.equations.gather != GatherOrder::InTurn;
    return (problem_.equations.directions == 2 || is_torus) && link.topology == Topology::Ring &&
           mapping_.network[d].degree > 2;
  }

  /// The set of dimensions with the greatest ratio of bytes to the bandwidth into a chip decides.
  double gather_at_once(const std::vector<std::size_t>& dimensions, double whole) const {
    std::vector<std::pair<double, double>> all;  // members and bytes a second
    double members = 1.0;
    for (const std::size_t d : dimensions) {
      const double n = number(mapping_.network[d].degree);
      const NetworkDimension& link = problem_.system.network[d];
      double links = has_both_ways(d) ? 2.0 : 1.0;
      if (link.topology == Topology::FullyConnected) links = n - 1.0;
      all.emplace_back(n, links * link.bandwidth.in_base_units());
      members *= n;
    }
    double most = 0.0;
    const std::function<void(std::size_t, double, double)> extend =
        [&](std::size_t d, double degrees, double into) {
          if (into > 0.0) most = std::max(most, (degrees - 1.0) / into);
          if (d == all.size()) return;
          extend(d + 1, degrees, into);
          extend(d + 1, degrees * all[d].first, into + all[d].second);
        };
    extend(0, 1.0, 0.0);
    return whole * most / members;
  }

  double all_gather(Strategy strategy, double whole, const Axes& axes) const {
    std::vector<std::vector<std::size_t>> turns;  // of dimensions at once
    bool was_torus = false;
    for (std::size_t d = 0; d < mapping_.network.size(); ++d) {
      if (!is_along(d, strategy, axes)) continue;
      const bool is_torus =
          problem_.system.network[d].both_ways && problem_.equations.gather == GatherOrder::Tori;
      const bool joins =
          problem_.equations.gather == GatherOrder::AtOnce || (was_torus && is_torus);
      if (turns.empty() || !joins) turns.emplace_back();
      turns.back().push_back(d);
      was_torus = is_torus;
    }
    double time = 0.0;
    for (const std::vector<std::size_t>& turn : turns) {
      time += gather_at_once(turn, whole);
      for (const std::size_t d : turn) whole /= number(mapping_.network[d].degree);
    }
    return time;
  }
  double all_reduce(Strategy strategy, double whole) const {
    return problem_.equations.all_reduce_passes * all_gather(strategy, whole);
  }

  /// The slowest dimension, each `of(dimension, members)` times bytes over bandwidth.
  template <class Of>
  double slowest(Strategy strategy, double bytes, Of of, const Axes& axes) const {
    double time = 0.0;
    for (std::size_t d = 0; d < mapping_.network.size(); ++d) {
      const double n = number(mapping_.network[d].degree);
      if (!is_along(d, strategy, axes)) continue;
      const NetworkDimension& link = problem_.system.network[d];
      time = std::max(time, of(link, n) * bytes / link.bandwidth.in_base_units());
    }
    return time;
  }

  double point_to_point(Strategy strategy, double bytes) const {
    return slowest(
        strategy, bytes, [](const NetworkDimension&, double) { return 1.0; }, axes_);
  }

  double exchange(double shard, const Axes& axes) const {
    const bool per_pair = problem_.equations.layout_conversion_bytes == ConversionBytes::Shard;
    const bool all_both = problem_.equations.directions == 2;
    const bool tori = problem_.equations.gather != GatherOrder::InTurn;
    const auto of = [per_pair, all_both, tori](const NetworkDimension& link, double n) {
      const bool both = (all_both || (tori && link.both_ways)) && !per_pair;
      if (link.topology == Topology::Ring) {
        if (both) return n == 2.0 ? 0.5 : std::floor(n * n / 4.0) / (2.0 * n);
        return per_pair ? n * n / 8.0 : n / 8.0;
      }
      if (link.topology == Topology::FullyConnected) return per_pair ? 1.0 : 1.0 / n;
      if (link.topology == Topology::Line) {
        const double pairs = std::floor(n / 2.0) * std::ceil(n / 2.0);
        return per_pair ? pairs : pairs / n;
      }
      return per_pair ? n / 4.0 : (n - 1.0) / n;
    };
    return slowest(Strategy::Tensor, shard, of, axes);
  }

  /// The fullest chip's part of a tile that is split as the producer makes it along the axes
  /// `made`, and as the consumer needs it along the axes `read`.
  double part(const Tensor& t, const Axes& made, const Axes& read) const {
    const Kernel& producer = kernels_[t.from.index()];
    const Kernel& consumer = kernels_[t.to.index()];
    const Extents e = extents(carried(t, producer), t.from.index(), made, 1.0);
    double rows = e.m;
    double columns = e.n;
    double heads = 1.0, sums = 1.0, single = 1.0;  // chips among which these are dealt out
    for (std::size_t a = 0; a < 2; ++a) {
      const Loop loop = loops(t.to)[a];
      const std::string to = wanted(problem_, t, loop);
      const bool by_heads = loop == Loop::Outer && problem_.equations.shards == Shards::Whole;
      if (to == "RS") columns = std::ceil(columns / read[a]);
      if (to == "SS") sums *= read[a];
      if (to == "SR") (by_heads ? heads : single) *= read[a];
    }
    if (sums > 1.0) {
      rows = std::ceil(rows / number(consumer.m)) * std::ceil(number(consumer.m) / sums);
    }
    if (heads > 1.0) {
      const double of_tensor = heads_of(t, producer, consumer);
      const double held = most_heads(number(consumer.outer), of_tensor, heads);
      rows = std::min(rows, held * std::ceil(rows / of_tensor));
    }
    rows = std::ceil(rows / single);
    if (producer.tiled == Loop::N) columns = std::ceil(columns / tiles_);
    if (producer.tiled == Loop::M || producer.tiled == Loop::Outer) rows = std::ceil(rows / tiles_);
    return rows * columns * word_;
  }

  struct Conversion {
    double per_tile = 0.0, once = 0.0;
  };
  double all_tiles(const Conversion& c) const { return tiles_ * c.per_tile + c.once; }

  /// Along one axis, with the other as it is made or as it is wanted.
  Conversion conversion_along(const Tensor& t, std::size_t a, bool other_is_done) const {
    Axes made = axes_;
    Axes read{1.0, 1.0};
    if (other_is_done) std::swap(made[1 - a], read[1 - a]);
    const std::string from = produced(loops(t.from)[a]);
    const std::string to = wanted(problem_, t, loops(t.to)[a]);
    Axes along{1.0, 1.0};
    const double n = along[a] = axes_[a];
    if (n == 1.0) return {};
    const double shard = part(t, made, read);
    made[a] = 1.0;
    if (gathers(from, to)) {
      const double whole = part(t, made, read);
      const double moved = by_value(problem_) ? std::min(n * shard, whole * n / (n - 1.0)) : shard;
      return {all_gather(Strategy::Tensor, moved, along),
              steps_of(t) * gather_latency(Strategy::Tensor, along)};
    }
    read[a] = n;
    const double dealt = by_value(problem_) ? part(t, made, read) : 0.0;
    const bool wants_more = from == "SR" && to == "SR" && dealt > shard;
    if (!exchanges(from, to) && !wants_more) return {};
    Mapping one_axis = mapping_;
    for (std::size_t d = 0; d < one_axis.network.size(); ++d) {
      if (axis_of_[d] != a) one_axis.network[d].degree = 1;
    }
    const double latency =
        pays_hops() ? plain_exchange_latency(problem_, one_axis, {Strategy::Tensor}) : 0.0;
    return {exchange(std::max(shard, dealt), along), steps_of(t) * latency};
  }
  double steps_of(const Tensor& t) const {
    return std::min(steps_of(t.from.index()), steps_of(t.to.index()));
  }

  /// One axis after the other, in the better order.
  Conversion conversion_of(const Tensor& t) const {
    Conversion best{std::numeric_limits<double>::infinity(), 0.0};
    for (std::size_t first = 0; first < 2; ++first) {
      const Conversion one = conversion_along(t, first, false);
      const Conversion other = conversion_along(t, 1 - first, true);
      const Conversion both{one.per_tile + other.per_tile, one.once + other.once};
      if (all_tiles(both) < all_tiles(best)) best = both;
    }
    return best;
  }

  /// Tensors of a value that are converted to one layout count once, at the first of them, with the
  /// greatest need among them.
  std::pair<double, double> conversion_of_all(std::size_t first) const {
    const Tensor& t = tensors_[first];
    double per_tile = 0.0, once = 0.0, most = -1.0;
    for (std::size_t other = first; other < tensors_.size(); ++other) {
      const Tensor& o = tensors_[other];
      const bool together = by_value(problem_) && t.value >= 0 && o.from == t.from &&
                            o.value == t.value && wanted_of(o) == wanted_of(t);
      if (other != first && !together) continue;
      const Conversion conversion = conversion_of(o);
      if (all_tiles(conversion) <= most) continue;
      most = all_tiles(conversion);
      per_tile = conversion.per_tile;
      once = conversion.once;
    }
    return {per_tile, once};
  }
  std::string wanted_of(const Tensor& t) const {
    std::string layouts;
    for (std::size_t a = 0; a < 2; ++a) {
      layouts += axes_[a] > 1.0 ? wanted(problem_, t, loops(t.to)[a]) : "RR";
    }
    return layouts;
  }
  /// Whether a tensor before this one carries the same value to the same layout.
  bool is_made(std::size_t tensor) const {
    const Tensor& t = tensors_[tensor];
    if (!by_value(problem_) || t.value < 0) return false;
    for (std::size_t other = 0; other < tensor; ++other) {
      const Tensor& o = tensors_[other];
      if (o.from == t.from && o.value == t.value && wanted_of(o) == wanted_of(t)) return true;
    }
    return false;
  }

  double network_time(std::size_t i) const {
    const Kernel& kernel = kernels_[i];
    const Extents e = tile(i);
    const double shard = e.m * e.n * word_;
    double per_tile = 0.0;
    double once = 0.0;
    const bool is_gradient =
        kernel.communication &&
        (kernel.communication->type == CommunicationType::GradientAllReduce ||
         kernel.communication->type == CommunicationType::FlatGradientAllReduce);
    if (!kernel.communication || (is_gradient && problem_.tensor_axes == 2)) {
      const Axes summed = axes_with(Loop::K, i);
      per_tile +=
          problem_.equations.all_reduce_passes * all_gather(Strategy::Tensor, shard, summed);
      once = steps_of(i) * all_reduce_latency(summed);
    }
    if (mapping_.sharding[i].has(Loop::M) && couples(problem_, kernel, Loop::M)) {
      const double part = number(kernel.outer) * number(kernel.coupled) * e.n * word_;
      const Axes split = axes_with(Loop::M, i);
      per_tile += all_gather(Strategy::Tensor, split[0] * split[1] * part, split);
      once += steps_of(i) * gather_latency(Strategy::Tensor, split);
    }
    for (std::size_t number = 0; number < tensors_.size(); ++number) {
      const Tensor& t = tensors_[number];
      if (t.from.index() != i || is_made(number)) continue;
      const auto [time, latency] = conversion_of_all(number);
      per_tile += time;
      once += latency;
    }
    for (const Tensor& s : seams(problem_)) {
      if (s.from.index() != i) continue;
      per_tile += conversion_of(s).per_tile;
      once += conversion_of(s).once;
    }
    if (!kernel.communication) return tiles_ * per_tile + once;
    double own = own_communication(i, *kernel.communication);
    if (kernel.second_communication) {
      own = std::max(own, own_communication(i, *kernel.second_communication));
    }
    return tiles_ * per_tile + once + own;
  }

  bool pays_hops() const { return problem_.equations.latency == LatencyRule::Hops; }

  double gather_latency(Strategy strategy) const { return gather_latency(strategy, axes_); }
  double gather_latency(Strategy strategy, const Axes& axes) const {
    double sum = 0.0;
    for (std::size_t d = 0; pays_hops() && d < mapping_.network.size(); ++d) {
      const double n = number(mapping_.network[d].degree);
      if (!is_along(d, strategy, axes)) continue;
      const NetworkDimension& link = problem_.system.network[d];
      double hops = link.topology == Topology::Ring ? n - 1.0 : 1.0;
      if (has_both_ways(d)) hops = std::floor(n / 2.0);
      sum += hops * link.latency.in_base_units();
    }
    return sum;
  }

  double longest_latency(Strategy strategy) const {
    double longest = 0.0;
    for (std::size_t d = 0; d < mapping_.network.size(); ++d) {
      const Mapping::Dimension& dimension = mapping_.network[d];
      if (dimension.strategy != strategy || dimension.degree == 1) continue;
      longest = std::max(longest, problem_.system.network[d].latency.in_base_units());
    }
    return longest;
  }

  /// Of a kernel.
  double all_reduce_latency() const { return all_reduce_latency(axes_); }
  double all_reduce_latency(const Axes& axes) const {
    if (pays_hops()) return 2.0 * gather_latency(Strategy::Tensor, axes);
    double sum = 0.0;
    for (std::size_t d = 0; d < mapping_.network.size(); ++d) {
      if (!is_along(d, Strategy::Tensor, axes)) continue;
      const NetworkDimension& link = problem_.system.network[d];
      const bool is_direct = link.topology == Topology::FullyConnected;
      const double hops = is_direct ? 1.0 : number(mapping_.network[d].degree) - 1.0;
      sum += 2.0 * hops * link.latency.in_base_units();
    }
    return sum;
  }

  double slowest_data_link() const {
    double slowest = std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < mapping_.network.size(); ++d) {
      const bool counts =
          mapping_.network[d].strategy == Strategy::Data && mapping_.network[d].degree > 1;
      const double bandwidth = problem_.system.network[d].bandwidth.in_base_units();
      if (counts) slowest = std::min(slowest, bandwidth);
    }
    return slowest;
  }

  double own_communication(std::size_t i, const Communication& own) const {
    const double bytes = own.bytes.in_base_units();
    const Extents e = extents(i, axes_, 1.0);
    const double output = e.m * e.n * word_;
    switch (own.type) {
      case CommunicationType::AllReduce:
        return all_reduce(Strategy::Tensor, bytes) + steps_of(i) * all_reduce_latency();
      case CommunicationType::AllGather:
        return all_gather(Strategy::Tensor, bytes) + steps_of(i) * gather_latency(Strategy::Tensor);
      case CommunicationType::PointToPoint:
        return point_to_point(Strategy::Tensor, bytes) +
               (pays_hops() ? steps_of(i) * longest_latency(Strategy::Tensor) : 0.0);
      case CommunicationType::GradientAllReduce:
        return (all_reduce(Strategy::Data, output) + 2.0 * gather_latency(Strategy::Data)) /
               micro_batches_;
      case CommunicationType::FlatGradientAllReduce: {
        if (degree(Strategy::Data) == 1.0) return 0.0;
        const auto& given = problem_.equations.dlrm_gradient_bandwidth;
        const double bandwidth = given ? given->in_base_units() : slowest_data_link();
        return (problem_.equations.all_reduce_passes * output / bandwidth +
                2.0 * gather_latency(Strategy::Data)) /
               micro_batches_;
      }
      default:
        return plain_machine_time(problem_, mapping_, own);
    }
  }

  // Section 7: sizes, and with them the bandwidth of the memory.
  bool fits_in_memory(PlainCost& cost) {
    const Workload& w = problem_.workload;
    const PlainGrid grid = plain_grid(problem_, mapping_);
    cost.stored = std::ceil(w.stored.in_base_units() / (grid.x * grid.y));
    if (staged()) return stages_fit_in_memory(cost);
    if (!w.out_of_core) {
      const double layers = std::ceil(number(w.layers) / degree(Strategy::Pipeline));
      for (std::size_t i = 0; i < kernels_.size(); ++i) cost.weights += stored_weight(i) * layers;
      for (std::int64_t p = 0; p < problem_.partition_limit(); ++p) {
        double alive = 0.0;
        for (const Tensor& t : tensors_) {
          const bool crosses = source(t) != target(t) && source(t) <= p && p <= target(t);
          if (crosses) alive += number(mapping_.micro_batch) * tiles_ * tile_bytes(t);
        }
        cost.activations = std::max(cost.activations, alive);
      }
      for (const Tensor& s : seams(problem_)) {
        const double one = number(mapping_.micro_batch) * tiles_ * tile_bytes(s);
        cost.activations += one + one;  // where it comes in and where it goes out
      }
    }
    const std::vector<MemoryTier>& memory = problem_.system.memory;
    const double needed = cost.weights + cost.activations + cost.stored;
    const double first = memory[0].capacity.in_base_units();
    if (memory.size() == 1 || needed <= first) return needed <= first;
    const double second = memory[1].capacity.in_base_units();
    const double slow = memory[1].bandwidth.in_base_units();
    if (problem_.equations.spilled == SpilledTime::Mean) {
      bandwidth_ = (bandwidth_ * first + slow * second) / (first + second);
    } else {
      bandwidth_ = (first + second) / (first / bandwidth_ + second / slow);
    }
    return needed <= first + second;
  }

  void add_step(PlainCost& cost) const {
    if (staged()) return add_staged_step(cost);
    const Workload& w = problem_.workload;
    const double stages = degree(Strategy::Pipeline);
    const double layers = std::ceil(number(w.layers) / stages);
    double interleaved = layers;
    if (problem_.equations.virtual_stages == VirtualStages::LayersMinusOne) {
      interleaved = layers >= 2.0 ? layers - 1.0 : 1.0;
    } else if (problem_.equations.virtual_stages == VirtualStages::Fixed) {
      interleaved = number(problem_.equations.fixed_virtual_stages);
    }
    double bubble = 1.0 + (stages - 1.0) / (micro_batches_ * interleaved);
    const double directions = w.graph.has_backward() ? 2.0 : 1.0;
    const double latency = longest_latency(Strategy::Pipeline);
    double transfer = point_to_point(Strategy::Pipeline,
                                     directions * w.boundary.in_base_units() * number(w.layers));
    double hops = stages - 1.0;
    double all_sent = 0.0;
    if (problem_.equations.pipeline == PipelineTime::Schedule) {
      const double chunks = stages * interleaved;
      bubble = std::max(bubble, (chunks + micro_batches_ - 1.0) / (micro_batches_ * interleaved));
      hops = chunks - 1.0;
      const double handed = w.serving
                                ? w.serving->boundary.in_base_units() / degree(Strategy::Tensor)
                                : w.boundary.in_base_units();
      const double sent = point_to_point(Strategy::Pipeline, number(mapping_.micro_batch) * handed);
      transfer = directions * hops * (sent + latency);
      all_sent = point_to_point(Strategy::Pipeline, samples_ * handed);
    }
    cost.step = cost.layer * bubble * layers * samples_ + transfer;
    cost.step = std::max(cost.step, all_sent) / number(w.copies);
    if (w.kind == WorkloadKind::LlmTraining) {
      cost.tokens_per_second = number(w.sequence) * number(w.global_batch) / cost.step;
    }
    if (!w.serving) return;
    const double hop = point_to_point(
        Strategy::Pipeline, w.serving->boundary.in_base_units() / degree(Strategy::Tensor));
    cost.latency = cost.layer * layers * stages + hops * (hop + latency);
    cost.tokens_per_second = number(w.serving->tokens) * number(w.global_batch) / cost.step;
  }

  void add_rates(PlainCost& cost) const {
    const Workload& w = problem_.workload;
    double flop = 0.0;
    for (const Kernel& k : kernels_) flop += flop_of(k);
    const Accelerator& chip = problem_.system.accelerator;
    const double peak =
        2.0 * number(chip.lanes * chip.stages * chip.cores) * chip.frequency.in_base_units();
    cost.utilization = flop * number(w.layers) * number(w.global_batch) /
                       (cost.step * number(problem_.system.chips) * peak);
    double bytes = 0.0;
    for (const PlainPartition& p : cost.partitions) bytes += (p.memory - p.waiting) * bandwidth_;
    const double stages = degree(Strategy::Pipeline);
    const double runs = std::ceil(number(w.layers) / stages) * stages * degree(Strategy::Tensor);
    if (bytes > 0.0) cost.memory_intensity = flop * number(w.layers) / (runs * bytes);
  }

  const Problem& problem_;
  const Mapping& mapping_;
  const std::vector<Kernel>& kernels_;
  const std::vector<Tensor>& tensors_;
  double word_;
  double bandwidth_;
  std::array<double, 3> degree_{1.0, 1.0, 1.0};           // by strategy
  Axes axes_{1.0, 1.0};                                   // of the tensor group
  std::vector<std::size_t> axis_of_;                      // of each dimension, of the tensor ones
  std::map<std::pair<std::int64_t, bool>, double> work_;  // by stage, and whether it is backward
  double tiles_ = 1.0;
  double samples_ = 1.0;
  double micro_batches_ = 1.0;
};

}  // namespace

std::optional<PlainCost> plain_cost(const Problem& problem, const Mapping& mapping) {
  return PlainModel(problem, mapping).cost();
}

std::vector<Loop> plain_loops(const Kernel& kernel) {
  if (kernel.spread != Spread::Tensor) return {Loop::None};
  if (kernel.outer > 1 && kernel.tiled != Loop::Outer) return {Loop::Outer};
  if (kernel.kind == KernelKind::Attention) return {Loop::None};
  std::vector<Loop> loops;
  if (kernel.kind != KernelKind::WeightGemm) loops.push_back(Loop::None);
  if (kernel.k > 1 && kernel.tiled != Loop::K) loops.push_back(Loop::K);
  if (kernel.m > 1 && kernel.tiled != Loop::M) loops.push_back(Loop::M);
  if (kernel.n > 1 && kernel.tiled != Loop::N) loops.push_back(Loop::N);
  if (loops.empty()) return {Loop::None};
  return loops;
}

double plain_kernel_bytes(const Problem& problem, std::size_t kernel, LoopPair loop) {
  const Kernel& k = problem.workload.graph.kernels()[kernel];
  if (couples(problem, k, loop.loops[0])) {
    return number(k.outer) * number(k.coupled) * number(k.n) *
           problem.workload.word.in_base_units();
  }
  return loop == Loop::K && !k.communication ? whole_output(problem, k) : 0.0;
}

double plain_tensor_bytes(const Problem& problem, const Tensor& t, LoopPair from, LoopPair to) {
  const std::string made = produced(from.loops[0]);
  const std::string layout = wanted(problem, t, to.loops[0]);
  const bool moves = gathers(made, layout) || exchanges(made, layout);
  return moves ? whole_output(problem, carried(t, problem.workload.graph.kernel(t.from))) : 0.0;
}

double plain_tensor_bytes(const Problem& problem, std::size_t tensor, LoopPair from, LoopPair to) {
  return plain_tensor_bytes(problem, problem.workload.graph.tensors()[tensor], from, to);
}

double plain_bytes(const Problem& problem, const std::vector<LoopPair>& pairs) {
  std::vector<Loop> sharding;  // along the one axis there is
  for (const LoopPair pair : pairs) sharding.push_back(pair.loops[0]);
  const DataflowGraph& graph = problem.workload.graph;
  double bytes = 0.0;
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    bytes += plain_kernel_bytes(problem, k, sharding[k]);
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& one = graph.tensors()[t];
    if (is_there(problem, t, sharding)) continue;
    bytes += plain_tensor_bytes(problem, t, sharding[one.from.index()], sharding[one.to.index()]);
  }
  for (const Tensor& s : seams(problem)) {
    bytes += plain_tensor_bytes(problem, s, sharding[s.from.index()], sharding[s.to.index()]);
  }
  return bytes;
}

}  // namespace dfsearch::test
