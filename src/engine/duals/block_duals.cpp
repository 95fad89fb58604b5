// Memory time is a sum over tensors, so what a partition moves is at least the sum of what its
// parts in each block move, where tensors from block to block count for nothing.  Each
// block by itself is a small problem, whose duals are soon found; put together they are
// duals of the whole.  Little is lost if the blocks are cut where few tensors pass.
//
// Against all partitions: tests/engine/duals/block_duals_test.cpp.

#include "engine/duals/block_duals.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dfsearch {
namespace {

/// Nothing if that takes too many steps.
std::optional<PartitionDuals> duals_of(const FusionTables& block, std::int64_t steps) {
  if (!PartitionDualSearch::is_possible(block)) return std::nullopt;
  PartitionDualSearch search(block);
  constexpr std::int64_t kFirst = 4'000;
  for (std::int64_t more = kFirst; steps > 0; more *= 2) {
    if (search.advance(std::min(more, steps))) return search.take();
    steps -= more;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> block_ends(const FusionTables& tables, std::size_t most) {
  const std::size_t size = tables.size();
  // What leads across the place before each kernel: sums of what begins and ends there.
  std::vector<double> cuts(size + 1);
  for (std::size_t p = 0; p < size; ++p) {
    for (const Arc& arc : tables.outputs(p)) {
      cuts[p + 1] += static_cast<double>(arc.transfer);
      cuts[arc.other + 1] -= static_cast<double>(arc.transfer);
    }
  }
  for (std::size_t p = 1; p <= size; ++p) cuts[p] += cuts[p - 1];
  cuts[size] = 0.0;
  std::vector<double> least(size + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(size + 1);
  least[0] = 0.0;
  for (std::size_t end = 1; end <= size; ++end) {
    for (std::size_t begin = end > most ? end - most : 0; begin < end; ++begin) {
      if (least[begin] + cuts[end] >= least[end]) continue;
      least[end] = least[begin] + cuts[end];
      from[end] = begin;
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = size; end > 0; end = from[end]) ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

std::optional<PartitionDuals> block_duals(const FusionTables& tables, std::size_t most_kernels,
                                          std::int64_t steps_of_block) {
  PartitionDuals duals;
  long double sum = 0.0L;
  for (const std::size_t end : block_ends(tables, most_kernels)) {
    tables.deadline().check();
    const std::size_t begin = duals.kernels.size();
    std::vector<std::size_t> kernels;
    for (std::size_t p = begin; p < end; ++p) {
      kernels.push_back(p);
      duals.kernels.push_back(tables.kernel(p).explicit_memory * kFinePerTick);
    }
    const FusionTables block(tables, kernels, static_cast<std::int64_t>(kernels.size()),
                             WindowUse::LeastMemory);
    const auto found = duals_of(block, steps_of_block);
    if (found && found->charge[0] == 0 && found->charge[1] == 0) {
      std::copy(found->kernels.begin(), found->kernels.end(),
                duals.kernels.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    for (std::size_t p = begin; p < end; ++p) sum += static_cast<long double>(duals.kernels[p]);
    if (!(sum < static_cast<long double>(kGreatestDual))) return std::nullopt;
  }
  set_gains(tables, duals);
  return duals;
}

}  // namespace dfsearch
