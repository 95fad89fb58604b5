// A whole search to its proof, without loading and reporting, on one thread: how
// more threads do is the matter of search_bench.py.  Compare searches by `nodes`
// first and by time only when those agree.

#include <benchmark/benchmark.h>

#include <string>

#include "engine/solve.hpp"
#include "shipped.hpp"

namespace dfsearch::bench {
namespace {

/// Training, prefill, and training with cores allocated are the three kinds of
/// search that users run: many kernels, few kernels, costly partitions.
void solve_to_proof(benchmark::State& state, const std::string& name) {
  const Config config = load_shipped(name);
  SearchResult result;
  for (auto _ : state) result = solve(config.problem, {});
  if (result.status != SearchStatus::Optimal) state.SkipWithError("no proof");
  state.counters["nodes"] = static_cast<double>(result.stats.nodes);
  state.counters["nodes/s"] = benchmark::Counter(static_cast<double>(result.stats.nodes),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(solve_to_proof, training, kTraining)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_to_proof, training_cores, kCores)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_to_proof, prefill, kPrefill)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dfsearch::bench
