// What a mapping costs, and what is decided before the search starts.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "model/evaluate.hpp"
#include "model/layer/core_allocation.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/sharding.hpp"
#include "shipped.hpp"

namespace dfsearch::bench {
namespace {

/// A config as users write it: one file, or parts in other files.
void load(benchmark::State& state, const std::string& name) {
  for (auto _ : state) benchmark::DoNotOptimize(load_shipped(name));
}

/// The best mapping, as at the end of every search.
void evaluate_best(benchmark::State& state, const std::string& name) {
  const Solved& best = solved(name);
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(best.problem(), best.best));
}

/// A layer of a transformer: a long path with residual tensors around it, so the
/// elimination keeps two or three kernels open at a time.
void sharding(benchmark::State& state, const std::string& name) {
  const Config config = load_shipped(name);
  for (auto _ : state) benchmark::DoNotOptimize(least_bytes_sharding(config.problem));
}

/// The 41 kernels of a layer; the argument is the tile.  A GEMM has some hundred
/// useful grids, more of them when the whole sequence is one tile.
void core_options_of_layer(benchmark::State& state) {
  const Solved& best = solved(kCores);
  LayerDecisions decisions = best.decisions;
  decisions.tile = state.range(0);
  const LayerCosts costs(best.problem(), decisions);
  std::size_t options = 0;
  for (auto _ : state) {
    options = 0;
    for (std::size_t i = 0; i < best.graph().kernel_count(); ++i) {
      const KernelId id(i);
      const auto found =
          core_options(best.graph().kernel(id), costs.shard(id), best.problem().system.accelerator);
      benchmark::DoNotOptimize(found.data());
      options += found.size();
    }
  }
  state.counters["options"] = static_cast<double>(options);
}

/// The fullest partition of the best mapping: large GEMMs that share the chip
/// with elementwise kernels, which is what allocations are made for.
void least_cycles_of_partition(benchmark::State& state) {
  const Solved& best = solved(kCores);
  const FusionTables tables = tables_of(best);
  std::vector<const std::vector<CoreOption>*> options;
  for (const std::size_t p : fullest_partition(best, tables)) {
    options.push_back(tables.kernel(p).options);
  }
  for (auto _ : state) benchmark::DoNotOptimize(least_cycles(options, tables.cores()));
  state.counters["kernels"] = static_cast<double>(options.size());
}

BENCHMARK_CAPTURE(load, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(load, training_in_parts, kCores)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, training_cores, kCores)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(evaluate_best, prefill, kPrefill)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sharding, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK(core_options_of_layer)->Arg(1)->Arg(9)->Arg(2048)->Unit(benchmark::kMicrosecond);
BENCHMARK(least_cycles_of_partition)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dfsearch::bench
