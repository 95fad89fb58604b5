// What a user waits for, apart from starting the program: loading a config,
// costing a mapping, and the search to its proof.  The configs are those that
// ship, since synthetic graphs have neither the symmetry nor the long residual
// tensors that make real ones easy or hard.
//
// Compare searches by `nodes` first and by time only when those agree.

#include <benchmark/benchmark.h>

#include <string>
#include <variant>

#include "engine/solve.hpp"
#include "io/load_config.hpp"
#include "model/evaluate.hpp"

namespace dfsearch {
namespace {

constexpr const char* kTraining = "/gpt3_1t.yaml";                // 41 kernels, six partitions
constexpr const char* kPrefill = "/gpt3_175b_dataflow_8x1.yaml";  // 18 kernels, ring of eight

Config config_named(const char* name) {
  return load_config(std::string(DFSEARCH_CONFIGS) + name, {});
}

void load(benchmark::State& state, const char* name) {
  for (auto _ : state) benchmark::DoNotOptimize(config_named(name));
}

void cost_of_winner(benchmark::State& state, const char* name) {
  const Config config = config_named(name);
  const SearchResult result = solve(config.problem, {});
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(config.problem, *result.mapping));
}

/// The argument is the number of threads.
void search(benchmark::State& state, const char* name) {
  const Config config = config_named(name);
  const SearchOptions options{.threads = static_cast<int>(state.range(0))};
  SearchResult result;
  for (auto _ : state) result = solve(config.problem, options);
  if (result.status != SearchStatus::Optimal) state.SkipWithError("no proof");
  state.counters["nodes"] = static_cast<double>(result.stats.nodes);
  state.counters["nodes/s"] = benchmark::Counter(static_cast<double>(result.stats.nodes),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(load, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cost_of_winner, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(cost_of_winner, prefill, kPrefill)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(search, training, kTraining)
    ->RangeMultiplier(2)
    ->Range(1, 8)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search, prefill, kPrefill)
    ->RangeMultiplier(2)
    ->Range(1, 8)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsearch
