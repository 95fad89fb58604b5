// The fusion search from the inside: its tables, one step of an enumeration, one
// whole enumeration, the dynamic program that finds the first mapping.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "engine/tables/kernel_order.hpp"
#include "engine/tables/symmetry.hpp"
#include "shipped.hpp"

namespace dfsearch::bench {
namespace {

/// Swallows what a node branches into; wants nothing above a fixed limit.
class Counter final : public FusionSink {
 public:
  explicit Counter(Ticks limit) : limit_(limit) {}
  [[nodiscard]] Ticks limit() const override { return limit_; }
  void child(FusionNode&& node) override {
    benchmark::DoNotOptimize(node.bound);
    ++children_;
  }
  void complete(Fusion&& fusion) override { benchmark::DoNotOptimize(fusion.time); }
  [[nodiscard]] double children() const { return static_cast<double>(children_); }

 private:
  Ticks limit_;
  std::int64_t children_ = 0;
};

constexpr std::int64_t kNoBudget = std::int64_t{1} << 60;

/// Time to open a choice of the tile: a layer with its backward pass at the best tile.
void build_tables(benchmark::State& state, const std::string& name) {
  const Solved& best = solved(name);
  const auto order = std::make_shared<const KernelOrder>(
      best.graph(), find_exchanges(best.problem(), loop_sets(best.best.sharding)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(FusionTables(best.problem(), best.decisions, order));
  }
}

/// Fills the first partition of the best mapping kernel by kernel and empties it
/// again: the steps of every enumeration, with two to four tensors a kernel.
/// Items are pairs of put_in and take_out.
void put_in_take_out(benchmark::State& state, const std::string& name) {
  const Solved& best = solved(name);
  const FusionTables tables = tables_of(best);
  std::vector<std::size_t> first;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    if (best.best.partition[tables.id(p).index()] == 0) first.push_back(p);
  }
  OpenPartition partition(tables, KernelSet(tables.size()));
  std::vector<OpenPartition::Totals> before(first.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < first.size(); ++i) {
      before[i] = partition.totals();
      benchmark::DoNotOptimize(partition.fits(first[i]));
      partition.put_in(first[i]);
    }
    for (std::size_t i = first.size(); i-- > 0;) partition.take_out(first[i], before[i]);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(first.size()));
}

/// The first partition of a layer, every way.  `known` is what the root looks
/// like once the best mapping is found, which is from the second node on; else
/// nothing is cut by its bound.  Transformers leave few ways, equal experts many:
/// the two ends of what searches meet.
void branch_root(benchmark::State& state, const std::string& name, bool known) {
  const Solved& best = solved(name);
  const FusionTables tables = tables_of(best);
  const FusionTree search(tables);
  const FusionNode root = search.root();
  double children = 0;
  for (auto _ : state) {
    Counter sink(known ? best.layer : kNever - 1);
    benchmark::DoNotOptimize(search.branch(root, kNoBudget, sink));
    children = sink.children();
  }
  state.counters["children"] = children;
}

/// Run once for every choice of the tile that is opened.
void segments(benchmark::State& state, const std::string& name) {
  const FusionTables tables = tables_of(solved(name));
  for (auto _ : state) benchmark::DoNotOptimize(best_segments(tables));
}

BENCHMARK_CAPTURE(build_tables, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(build_tables, training_cores, kCores)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(put_in_take_out, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(branch_root, training, kTraining, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(branch_root, training_unlimited, kTraining, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(branch_root, training_cores, kCores, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(branch_root, experts, kExperts, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(branch_root, experts_unlimited, kExperts, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(segments, training, kTraining)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(segments, training_cores, kCores)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace dfsearch::bench
