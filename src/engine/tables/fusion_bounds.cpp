// Share of each kernel in the lower bounds of a rest.
//
// The bounds are sums over kernels, so that a node updates them by subtraction.  Beyond the plain
// totals they use one idea.  Take a kernel whose network time n is long.  Any partition that holds
// it can hide at most cmax of n behind compute, where cmax is the greatest compute time of kernels
// that fit on the chip together with it: its own plus the best fractional knapsack of other
// kernels' weights into the SRAM it leaves.  So n - cmax, if positive, comes on top of all compute
// time; and these excesses add up over kernels even when they share a partition.  The same holds
// for memory time against compute and for compute against network.  Proofs: docs/search.md, section
// 5.  Tested against brute force: tests/engine/tables/fusion_bounds_test.cpp,
// tests/engine/mapping/bound_properties_test.cpp.

#include "engine/tables/fusion_bounds.hpp"

#include <algorithm>

#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/most_beside.hpp"

namespace dfsearch {
namespace {

class ShareBuilder {
 public:
  explicit ShareBuilder(const FusionTables& tables)
      : tables_(tables),
        shares_(tables.size()),
        forced_memory_(tables.size()),
        most_compute_(tables, &KernelCosts::compute),
        most_network_(tables, &KernelCosts::network) {}

  std::vector<Rest> build() && {
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      tables_.deadline().check();
      add_counts(p);
      for (const Arc& arc : tables_.outputs(p)) add_tensor(p, arc);
    }
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      tables_.deadline().check();
      add_times(p);
    }
    drop_rows();
    return std::move(shares_);
  }

 private:
  static std::size_t phase(const KernelCosts& kernel) { return kernel.backward ? 1 : 0; }

  void add_counts(std::size_t p) {
    const KernelCosts& kernel = tables_.kernel(p);
    Rest& share = shares_[p];
    share.kernels[phase(kernel)] = 1;
    share.lonely[phase(kernel)] = kernel.lonely ? 1 : 0;
    if (!kernel.lonely) share.sram[phase(kernel)] += kernel.weight;
    share.bound[kMemoryRow] += kernel.explicit_memory;
    forced_memory_[p] += kernel.explicit_memory;
  }

  /// The memory time and the SRAM of a tensor from kernel `p`.
  void add_tensor(std::size_t p, const Arc& arc) {
    const KernelCosts& producer = tables_.kernel(p);
    const KernelCosts& consumer = tables_.kernel(arc.other);
    const bool crosses = !tables_.may_share(p, arc.other);
    // While the producer is in the rest, a tensor that must cross costs a store and a load, and
    // others may cost nothing.  Once the producer is done, the tensor costs a load.
    shares_[arc.other].bound[kMemoryRow] += arc.opposite;
    shares_[p].bound[kMemoryRow] += crosses ? arc.transfer : -arc.opposite;
    if (crosses) {
      forced_memory_[p] += arc.transfer;
      forced_memory_[arc.other] += arc.opposite;
    }
    // SRAM is shared out likewise.  The consumer has the buffer of a crossing tensor.  The producer
    // has the least that is needed beside it: a second such buffer if the tensor crosses, or what a
    // fused tensor needs beyond the first buffer.
    if (!consumer.lonely) shares_[arc.other].sram[phase(consumer)] += arc.streamed;
    if (producer.lonely) return;
    const Bytes more = consumer.lonely || crosses
                           ? arc.streamed
                           : std::min(arc.fused - arc.streamed, arc.streamed);
    shares_[p].sram[phase(producer)] += more;
  }

  /// Fills the compute and network rows: the kernel's own time, its network or memory time that no
  /// compute can hide, and its compute time that no network can hide.
  void add_times(std::size_t p) {
    const bool hides = tables_.bounds().use(SearchBound::Hidden);
    const Overlap overlap = tables_.problem().execution.overlap;
    const bool perfect = hides && overlap == Overlap::Perfect;
    const KernelCosts& kernel = tables_.kernel(p);
    auto& bound = shares_[p].bound;
    bound[kComputeRow] = kernel.compute;
    bound[kComputeMemoryRow] = kernel.compute;
    bound[kNetworkRow] = kernel.network;
    const bool long_network = perfect && kernel.network > kernel.compute;
    const bool long_memory =
        hides && overlap != Overlap::None && forced_memory_[p] > kernel.compute;
    if (long_network || long_memory) {
      const Ticks hidden = most_compute_.of(p);
      if (long_network) bound[kComputeRow] += std::max<Ticks>(0, kernel.network - hidden);
      if (long_memory) bound[kComputeMemoryRow] += std::max<Ticks>(0, forced_memory_[p] - hidden);
    }
    if (perfect && kernel.compute > kernel.network) {
      const Ticks hidden = most_network_.of(p);
      bound[kNetworkRow] += std::max<Ticks>(0, kernel.compute - hidden);
    }
  }

  /// Zeroes the rows that are switched off, including the excesses that SearchBound::Hidden added.
  void drop_rows() {
    constexpr std::array kBoundOfRow = {SearchBound::Compute, SearchBound::Compute,
                                        SearchBound::Memory, SearchBound::Network};
    static_assert(kBoundOfRow.size() == kBoundRows);
    for (Rest& share : shares_) {
      for (std::size_t row = 0; row < kBoundRows; ++row) {
        if (!tables_.bounds().use(kBoundOfRow[row])) share.bound[row] = 0;
      }
    }
  }

  const FusionTables& tables_;
  std::vector<Rest> shares_;
  std::vector<Ticks> forced_memory_;  // per kernel: least memory time in every mapping
  MostBeside most_compute_;
  MostBeside most_network_;
};

}  // namespace

Rest& Rest::operator+=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] += other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] += other.sram[p];
    lonely[p] += other.lonely[p];
    kernels[p] += other.kernels[p];
  }
  return *this;
}

Rest& Rest::operator-=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] -= other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] -= other.sram[p];
    lonely[p] -= other.lonely[p];
    kernels[p] -= other.kernels[p];
  }
  return *this;
}

std::vector<Rest> rest_shares(const FusionTables& tables) { return ShareBuilder(tables).build(); }

}  // namespace dfsearch
