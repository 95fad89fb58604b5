// The least kernel-by-kernel time as one sum.
//
// Each kernel is a partition.  Its time depends on its own loop, on the loops of its producers,
// whose outputs it loads, and on the loops of its consumers, to whose layouts it converts.  So the
// time of the layer is a sum of terms over few kernels each, in whole ticks, and the sharding of
// the least sum is found exactly (base/least_sum.hpp).  The clock is that of the layer with all
// loops left; no sharding has longer ticks.
//
// Tested against all shardings: tests/engine/sharding/lone_kernels_test.cpp.

#include "engine/sharding/sharding_completion.hpp"

#include <algorithm>
#include <utility>

#include "base/least_sum.hpp"
#include "engine/sharding/loop_sum.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/layer/sharding.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr double kMostCombinations = 4096.0;  // of the loops of a kernel and its neighbours
constexpr double kMostLoneSteps = 1e6;
constexpr double kMostExact = 0x1p53;  // sums of whole numbers below this limit are exact

/// The decisions where each kernel has the loop at this place of its set, or the last loop if the
/// set ends before this place.
LayerDecisions at_place(LayerDecisions decisions, std::size_t place) {
  for (LoopSet& set : decisions.sharding) {
    set = loop_at(set, std::min(place, static_cast<std::size_t>(set.size()) - 1));
  }
  return decisions;
}

class LoneSum {
 public:
  LoneSum(const Problem& problem, const LayerDecisions& decisions, CoreOptionsCache& cache)
      : problem_(problem),
        graph_(problem.workload.graph),
        sets_(decisions.sharding),
        relaxed_(problem, decisions, 0, &cache),
        context_(problem, decisions.network, relaxed_.tiles(),
                 step_time(problem, decisions.network, decisions.micro_batch).micro_batches,
                 &cache.conversions) {
    for (const LoopSet set : sets_) sizes_.push_back(static_cast<std::size_t>(set.size()));
    const std::size_t most = *std::max_element(sizes_.begin(), sizes_.end());
    for (std::size_t place = 0; place < most; ++place) {
      of_place_.emplace_back(problem, at_place(decisions, place), relaxed_.clock(), &cache);
    }
  }

  std::optional<BestLoneSharding> least(const Deadline& deadline) {
    std::vector<SumTerm> terms;
    BestLoneSharding best{.clock = relaxed_.clock(), .time = 0, .sharding = {}, .branch_on = 0};
    double widest = -1.0;
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      auto term = term_of(KernelId(k), deadline);
      if (!term) return std::nullopt;
      const double width = sizes_[k] > 1 ? width_of(*term, k) : -1.0;
      if (width > widest) {
        widest = width;
        best.branch_on = k;
      }
      if (term->variables.empty()) {
        best.time += static_cast<Ticks>(term->values.front());
      } else {
        terms.push_back(std::move(*term));
      }
    }
    const auto places = least_sum(sizes_, terms, kMostLoneSteps, deadline);
    if (!places) return std::nullopt;
    for (const SumTerm& term : terms) {
      std::size_t index = 0;
      for (const std::size_t k : term.variables) index = index * sizes_[k] + (*places)[k];
      if (!(static_cast<double>(best.time) + term.values[index] < kMostExact)) return std::nullopt;
      best.time += static_cast<Ticks>(term.values[index]);
    }
    best.sharding = loops_at(sets_, *places);
    return best;
  }

 private:
  /// The undecided kernels on which the time of `kernel` depends, ascending.
  [[nodiscard]] std::vector<std::size_t> variables_of(KernelId kernel) const {
    std::vector<std::size_t> kernels = {kernel.index()};
    for (const TensorId t : graph_.inputs(kernel)) {
      kernels.push_back(graph_.tensor(t).from.index());
    }
    for (const TensorId t : graph_.outputs(kernel)) kernels.push_back(graph_.tensor(t).to.index());
    for (const Tensor& seam : charged_seams(problem_)) {
      if (seam.to == kernel) kernels.push_back(seam.from.index());
      if (seam.from == kernel) kernels.push_back(seam.to.index());
    }
    std::erase_if(kernels, [this](std::size_t k) { return sizes_[k] < 2; });
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    return kernels;
  }

  /// The times of a kernel as a term of the sum; nothing if it has too many combinations.
  [[nodiscard]] std::optional<SumTerm> term_of(KernelId kernel, const Deadline& deadline) {
    SumTerm term{.variables = variables_of(kernel), .values = {}};
    double combinations = 1.0;
    for (const std::size_t k : term.variables) combinations *= static_cast<double>(sizes_[k]);
    if (combinations > kMostCombinations) return std::nullopt;
    places_.assign(sizes_.size(), 0);
    LoopSets sharding = sets_;
    for (const std::size_t k : term.variables) sharding[k] = sets_[k].front();
    for (std::size_t i = term.variables.size() + 1; i > 0;) {
      deadline.check();
      term.values.push_back(static_cast<double>(time_of(kernel, sharding)));
      for (i = term.variables.size(); i > 0; --i) {
        const std::size_t k = term.variables[i - 1];
        const bool is_over = ++places_[k] == sizes_[k];
        if (is_over) places_[k] = 0;
        sharding[k] = loop_at(sets_[k], places_[k]);
        if (!is_over) break;
      }
    }
    return term;
  }

  /// The time of a kernel as `kernel_by_kernel_time` counts it.
  [[nodiscard]] Ticks time_of(KernelId kernel, const LoopSets& sharding) const {
    const LayerCosts& own = of_place_[places_[kernel.index()]];
    Ticks memory = capped_sum(own.own_memory(kernel), own.step_latency(kernel));
    if (loads_weights_) memory = capped_sum(memory, own.reload(kernel));
    const std::vector<Tensor>& seams = charged_seams(problem_);
    for (std::size_t s = 0; s < seams.size(); ++s) {
      const Ticks once = of_place_[places_[seams[s].from.index()]].seam_transfer(s);
      if (seams[s].from == kernel) memory = capped_sum(memory, once);
      if (seams[s].to == kernel) memory = capped_sum(memory, once);
    }
    for (const TensorId t : graph_.inputs(kernel)) {
      memory = capped_sum(memory, of_place_[places_[graph_.tensor(t).from.index()]].transfer(t));
    }
    for (const TensorId t : graph_.outputs(kernel)) memory = capped_sum(memory, own.transfer(t));
    const Ticks network = relaxed_.clock().ticks(network_time(context_, kernel, sharding));
    const Ticks time = overlapped(problem_.execution.overlap, lone_compute(problem_, own, kernel),
                                  own.with_latency(memory), network);
    // All kernels together decide whether weights are loaded, so the load is counted only if it is
    // certain.
    return std::min(kNever, time + (loads_weights_ ? own.weight_load(kernel) : 0));
  }

  /// The least time of a kernel with its worst loop, minus its least time with its best loop.
  [[nodiscard]] double width_of(const SumTerm& term, std::size_t kernel) const {
    std::size_t stride = 1;
    for (std::size_t i = term.variables.size(); term.variables[--i] != kernel;) {
      stride *= sizes_[term.variables[i]];
    }
    std::vector<double> least(sizes_[kernel], static_cast<double>(kNever));
    for (std::size_t i = 0; i < term.values.size(); ++i) {
      double& of_loop = least[i / stride % sizes_[kernel]];
      of_loop = std::min(of_loop, term.values[i]);
    }
    const auto [low, high] = std::minmax_element(least.begin(), least.end());
    return *high - *low;
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LoopSets& sets_;
  const LayerCosts relaxed_;
  const bool loads_weights_ = relaxed_.loads_weights();
  const NetworkContext context_;
  std::vector<std::size_t> sizes_;
  std::vector<LayerCosts> of_place_;  // costs by place, as in at_place()
  std::vector<std::size_t> places_;   // of all kernels; scratch of term_of()
};

}  // namespace

std::optional<BestLoneSharding> best_lone_sharding(const Problem& problem,
                                                   const LayerDecisions& decisions,
                                                   CoreOptionsCache& cache,
                                                   const Deadline& deadline) {
  // The number of pieces of a weight depends on the shardings of producers and of consumers.
  if (problem.charges_pieces()) return std::nullopt;
  return LoneSum(problem, decisions, cache).least(deadline);
}

}  // namespace dfsearch
