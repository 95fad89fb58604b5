// Plans with fused kernels against enumeration: every fusion of every pass of every part, below
// every plan of a small world.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "engine/training/find_plan.hpp"
#include "engine/training/layer_times.hpp"
#include "engine/training/plan_space.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/shard.hpp"
#include "model/step/step_time.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/step.hpp"
#include "support/best_plan.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

using Mask = std::uint64_t;

/// A world whose passes are small enough, with kernels that are fused in some SRAM.
Task fused_world(std::uint64_t seed) {
  Task task = test::random_training_task(seed);
  std::mt19937_64 random(seed + 77);
  const auto pick = [&](std::uint64_t most) { return random() % most; };
  task.style = Style::Dataflow;
  if (pick(8) > 0) task.partitions = static_cast<std::int64_t>(1 + pick(3));
  task.pass.tokens = 16;
  task.pass.fused = true;
  task.model.dropout = false;
  task.machine.accelerator = {.cores = static_cast<std::int64_t>(8 + pick(40)),
                              .lanes = 1,
                              .stages = 1,
                              .frequency = Hertz(1e9),
                              .sram = Bytes(6e4 * static_cast<double>(1U << pick(8)))};
  task.machine.memory[0].capacity = task.machine.memory[0].capacity * 4.0;
  return task;
}

/// All sets of kernels that hold what their kernels need; too many of them: nothing.
std::vector<Mask> down_sets(const DataflowGraph& graph, std::size_t most) {
  std::vector<Mask> before(graph.kernel_count());
  for (const Tensor& t : graph.tensors()) before[t.to.index()] |= Mask{1} << t.from.index();
  std::set<Mask> sets{0};
  std::vector<Mask> open{0};
  while (!open.empty() && sets.size() <= most) {
    const Mask set = open.back();
    open.pop_back();
    for (std::size_t k = 0; k < before.size(); ++k) {
      const Mask kernel = Mask{1} << k;
      if ((set & kernel) != 0 || (before[k] & ~set) != 0) continue;
      if (sets.insert(set | kernel).second) open.push_back(set | kernel);
    }
  }
  if (sets.size() > most) return {};
  return {sets.begin(), sets.end()};
}

/// The times of kernels in one partition, by the sums of docs/model.md (28), (31) to (33).
class PlainPass {
 public:
  PlainPass(const Problem& problem, const LayerCosts& costs)
      : sram_(problem.system.accelerator.sram),
        cores_(problem.system.accelerator.cores),
        overlap_(problem.execution.overlap) {
    const DataflowGraph& graph = problem.workload.graph;
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      const KernelId id(k);
      kernels_.push_back(
          {.compute = costs.compute_at_utilization(id),
           .memory = costs.explicit_memory(id),
           .sram = costs.held(id).inputs + costs.held(id).outputs + costs.resident_weight(id)});
    }
    for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
      const TensorId t(i);
      tensors_.push_back({.from = Mask{1} << graph.tensor(t).from.index(),
                          .to = Mask{1} << graph.tensor(t).to.index(),
                          .transfer = costs.transfer(t),
                          .inside = costs.fused_buffer(t),
                          .crossing = costs.streamed_buffer(t)});
    }
  }

  [[nodiscard]] std::optional<Ticks> time_of(Mask kernels) const {
    Ticks compute = 0, memory = 0;
    Bytes sram{};
    std::int64_t count = 0;
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if ((kernels >> k & 1) == 0) continue;
      ++count;
      compute += kernels_[k].compute;
      memory += kernels_[k].memory;
      sram += kernels_[k].sram;
    }
    for (const Edge& t : tensors_) {
      const bool from = (kernels & t.from) != 0, to = (kernels & t.to) != 0;
      if (from && to) sram += t.inside;
      if (from == to) continue;
      memory += t.transfer;
      sram += t.crossing;
    }
    // A kernel alone streams.
    if (count > cores_ || (sram > sram_ && count > 1)) return std::nullopt;
    return overlapped(overlap_, compute, memory, 0);
  }

 private:
  struct OneKernel {
    Ticks compute, memory;
    Bytes sram;
  };
  struct Edge {
    Mask from, to;
    Ticks transfer;
    Bytes inside, crossing;
  };
  const Bytes sram_;
  const std::int64_t cores_;
  const Overlap overlap_;
  std::vector<OneKernel> kernels_;
  std::vector<Edge> tensors_;
};

/// The least time of a pass over all tiles and all sequences of partitions within the limit.
std::optional<Seconds> least_time(const Problem& problem, const std::vector<Mask>& sets) {
  std::optional<Seconds> best;
  for (std::int64_t tile = 1; tile <= problem.workload.sequence; ++tile) {
    // The largest of the tiles with equal numbers of tiles stands for all.
    const Workload& workload = problem.workload;
    const bool is_largest =
        tile == workload.sequence || tile_count(workload, tile + 1) < tile_count(workload, tile);
    if (!is_largest) continue;
    const LayerCosts costs(
        problem, {.network = {},
                  .sharding = LoopSets(problem.workload.graph.kernel_count(), LoopSet(Loop::None)),
                  .micro_batch = 1,
                  .tile = tile});
    const PlainPass plain(problem, costs);
    std::unordered_map<Mask, Ticks> times;
    constexpr Ticks kNone = -1;
    std::vector<Ticks> reached(sets.size(), kNone);
    reached[0] = 0;
    for (std::int64_t p = 0; p < problem.partition_limit(); ++p) {
      std::vector<Ticks> next = reached;
      for (std::size_t a = 0; a < sets.size(); ++a) {
        if (reached[a] == kNone) continue;
        // The last one has all that is left.
        const bool is_last = p + 1 == problem.partition_limit();
        for (std::size_t b = is_last ? sets.size() - 1 : a + 1; b < sets.size(); ++b) {
          if ((sets[a] & ~sets[b]) != 0 || a == b) continue;
          const auto [entry, is_new] = times.try_emplace(sets[b] & ~sets[a], kNone);
          if (is_new) {
            entry->second = plain.time_of(entry->first).value_or(kNone);
          }
          if (entry->second == kNone) continue;
          const Ticks sum = reached[a] + entry->second;
          if (next[b] == kNone || sum < next[b]) next[b] = sum;
        }
      }
      if (next == reached) break;
      reached = std::move(next);
    }
    if (reached.back() == kNone) continue;
    const Seconds time = costs.clock().seconds(reached.back());
    if (!best || time < *best) best = time;
  }
  return best;
}

/// The profiles by enumeration; `too_large` if some pass has too many fusions.
class PlainTimes {
 public:
  PlainTimes(const Task& task, const Blocks& blocks, LayoutShelf& shelf)
      : task_(task), blocks_(blocks), shelf_(shelf) {}

  std::optional<Profiles> least(const Degrees& degrees, TensorLayout layout,
                                std::int64_t micro_batch, bool weights_wait) {
    const auto key = std::tuple(degrees[Role::Tensor], degrees[Role::Context],
                                degrees[Role::Expert], layout, micro_batch, weights_wait);
    const auto [entry, is_new] = known_.try_emplace(key);
    if (is_new) entry->second = compute(degrees, layout, micro_batch, weights_wait);
    return entry->second;
  }
  bool too_large = false;

 private:
  std::optional<Profiles> compute(const Degrees& degrees, TensorLayout layout,
                                  std::int64_t micro_batch, bool weights_wait) {
    Profiles profiles;
    for (const Part part : kParts) {
      if (!blocks_[part]) continue;
      const FusedPart whole = fused_part(
          task_, *blocks_[part], shelf_.layouts(part, degrees, layout), degrees, micro_batch);
      BlockProfile& profile = profiles[static_cast<std::size_t>(part)];
      profile = whole.profile;
      profile.forward = profile.input_gradient = profile.weight_gradient = {};
      const BlockProfile sum = fused_floor(whole, Schedule::OneForwardOneBackward);
      const BlockProfile floor = weights_wait ? fused_floor(whole, Schedule::ZeroBubble) : sum;
      const auto add = [&](FusedKind kind, WorkTime& work) {
        const FusedPass& pass = whole.passes[static_cast<std::size_t>(kind)];
        if (pass.is_empty()) return true;
        const std::size_t most = pass.problem.partition_limit() <= 2   ? 1'500
                                 : pass.problem.partition_limit() == 3 ? 500
                                                                       : 200;
        const auto sets = down_sets(pass.problem.workload.graph, most);
        too_large = too_large || sets.empty();
        if (too_large) return false;
        const auto time = least_time(pass.problem, sets);
        work.time = one_by_one(whole, kind).time;
        if (time) work.time = std::min(work.time, *time * whole.samples);
        work.memory = work.time - pass.compute;
        return true;
      };
      if (!add(FusedKind::Forward, profile.forward)) return std::nullopt;
      if (!add(weights_wait ? FusedKind::InputGradient : FusedKind::Backward,
               profile.input_gradient)) {
        return std::nullopt;
      }
      if (weights_wait && !add(FusedKind::WeightGradient, profile.weight_gradient)) {
        return std::nullopt;
      }
      CHECK(floor.forward.time <= profile.forward.time);
      CHECK(floor.input_gradient.time <= profile.input_gradient.time);
      CHECK(floor.weight_gradient.time <= profile.weight_gradient.time);
      CHECK(sum.input_gradient.time <= profile.input_gradient.time + profile.weight_gradient.time);
    }
    return profiles;
  }

  const Task& task_;
  const Blocks& blocks_;
  LayoutShelf& shelf_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, TensorLayout, std::int64_t, bool>,
           std::optional<Profiles>>
      known_;
};

test::BestPlan enumerate_fused(const Task& task) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  PlainTimes times(task, space.blocks(), shelf);
  test::BestPlan best;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf)) {
          for (const Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            const bool weights_wait = plan.schedule == Schedule::ZeroBubble;
            const auto profiles = times.least(degrees, layout, micro_batch, weights_wait);
            best.too_large = times.too_large;
            if (best.too_large) return best;
            if (!profiles) continue;
            REQUIRE(plan.recompute != Recompute::Selective);
            const StepModel model(task, plan, *profiles, space.blocks().order);
            best.try_networks(space, model, plan,
                              [](const Plan&, Seconds step) { return step.in_base_units(); });
          }
        }
      }
    }
  }
  return best;
}

TEST_CASE("the best plan with fused kernels is the best of all plans and all fusions" *
          doctest::test_suite("slow")) {
  int feasible = 0, infeasible = 0, faster = 0, fused_ones = 0, alone = 0;
  for (std::uint64_t seed = 0; feasible < 300; ++seed) {
    REQUIRE(seed < 10000);
    CAPTURE(seed);
    const Task task = fused_world(seed);
    const test::BestPlan best = enumerate_fused(task);
    if (best.too_large) continue;
    // One search is enough for each of the many worlds without a plan.
    for (const int threads : {1, 2, 8}) {
      if (!best.plan && threads > 1) continue;
      CAPTURE(threads);
      const PlanResult found = find_plan(task, {.threads = threads});
      REQUIRE(found.plan.has_value() == best.plan.has_value());
      if (!best.plan) {
        CHECK(found.status == SearchStatus::Infeasible);
        ++infeasible;
        continue;
      }
      CHECK(found.status == SearchStatus::Optimal);
      CHECK(found.cost->step_time.in_base_units() == best.cost);
      CHECK(found.lower_bound.in_base_units() == best.cost);
      CHECK(*found.plan == *best.plan);
      for (const PartFusion& part : found.fusions) {
        for (const auto& mapping : part) mapping ? ++fused_ones : ++alone;
      }
    }
    Task one_by_one = task;
    one_by_one.style = Style::KernelByKernel;
    const PlanResult slower = find_plan(one_by_one, {});
    CHECK(slower.plan.has_value() == best.plan.has_value());
    if (slower.plan) CHECK(slower.cost->step_time.in_base_units() >= best.cost);
    if (slower.plan) faster += slower.cost->step_time.in_base_units() > best.cost;
    feasible += best.plan.has_value();
  }
  CHECK(infeasible > 100);
  CHECK(faster > 100);
  CHECK(alone > 100);
  CHECK(fused_ones > 300);
}

TEST_CASE("with room for all kernels a pass takes its compute or its memory, whichever is more") {
  const Transformer model{.hidden = 256, .layers = 2, .heads = 4};
  Task task = test::training_task(model, 64, 4);
  task.style = Style::Dataflow;
  task.overlap = Overlap::Perfect;
  task.pass.fused = true;
  task.machine.accelerator = {
      .cores = 64, .lanes = 8, .stages = 8, .frequency = Hertz(1e9), .sram = Bytes(1e12)};
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  LayerTimes times(task, blocks, shelf);
  Degrees degrees;
  degrees[Role::Data] = 4;
  const auto floor = times.floor({.degrees = degrees}, {});
  const auto least = times.least({.degrees = degrees}, {});
  const BlockProfile& bound = of(floor, Part::Layer);
  const BlockProfile& layer = of(least, Part::Layer);
  CHECK(layer.forward.time / bound.forward.time == doctest::Approx(1.0).epsilon(1e-6));
  CHECK(layer.input_gradient.time / bound.input_gradient.time ==
        doctest::Approx(1.0).epsilon(1e-6));
  task.style = Style::KernelByKernel;
  CHECK(layer.forward.time < of(times.least({.degrees = degrees}, {}), Part::Layer).forward.time);
}

}  // namespace
}  // namespace dfsearch::training
