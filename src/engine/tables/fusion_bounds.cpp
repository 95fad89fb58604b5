// What each kernel adds to the lower bounds of a rest R, the kernels in no closed partition.
//
// The bounds are sums over kernels, so that a node updates them by subtraction.  c, m and n are
// compute, memory and network time.
//
// Compute.  With a given utilization compute times add up.  Otherwise let w be the cycles of a
// kernel on one core.  On l by s cores it takes ceil(a/l) ceil(b/s) k cycles for a = ceil(m/LW) and
// b = ceil(n/SW), and l ceil(a/l) >= a, so cores times cycles are at least a b k = w; likewise for
// arrays that keep their weight or input, with other extents, and for `best`, the least of the
// three.  A partition whose slowest kernel takes x cycles spends at least the sum of w of its C x
// core-cycles, so x >= sum w / C.  Each w / C is rounded down to ticks, by a factor 1 - 2^-50 more
// than the division can err.
//
// A producer with many consumers.  Let u have consumers v1 ... vk by tensors that need not cross.
// Those that share u's partition take at least their weights and (depth - 2) beta more of the SRAM
// that u, its inputs and one buffer for each of its tensors leave.  By the fractional knapsack
// (Dantzig 1957) at most a certain transfer time is thus spared; the rest is stored and loaded.  It
// is u's own constant, so nothing is counted twice.
//
// Time that cannot hide.  Let h_i be an upper bound of the compute time of any partition that holds
// kernel i: its own, plus the fractional knapsack of the weights of kernels that may join it into
// the SRAM it leaves (most_beside.hpp).  Then the sum over partitions of max(c, n) is at least the
// sum over R of c + max(0, n_i - h_i).  Take one partition with compute time c and let A be its
// kernels with n_i > h_i, not empty, else there is nothing to show.  Then c <= h_i for every i in
// A, so c plus the sum over A of n_i - h_i is at most c + sum n_i - |A| c <= sum n_i <= n <= max(c,
// n).  Add up over partitions.  The same holds with compute and network exchanged, and with memory
// time in place of network time.
//
// Against brute force: tests/engine/tables/fusion_bounds_test.cpp,
// tests/engine/mapping/bound_properties_test.cpp.

#include "engine/tables/fusion_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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
    share.bound[kMemoryRow] += kernel.explicit_memory + transfers_without_room(p);
    forced_memory_[p] += kernel.explicit_memory;
  }

  /// The memory time and the SRAM of a tensor from kernel `p`.
  void add_tensor(std::size_t p, const Arc& arc) {
    const KernelCosts& producer = tables_.kernel(p);
    const KernelCosts& consumer = tables_.kernel(arc.other);
    const bool crosses = !tables_.may_share(p, arc.other);
    // While the producer is in the rest the tensor costs nothing for sure, or
    // a store and a load; once it is done, a load.
    shares_[arc.other].bound[kMemoryRow] += arc.transfer;
    shares_[p].bound[kMemoryRow] += crosses ? arc.transfer : -arc.transfer;
    if (crosses) {
      forced_memory_[p] += arc.transfer;
      forced_memory_[arc.other] += arc.transfer;
    }
    // SRAM: likewise one buffer on the consumer's side, and what both ends in
    // the rest take at least on top of it.
    if (!consumer.lonely) shares_[arc.other].sram[phase(consumer)] += arc.streamed;
    if (producer.lonely) return;
    const Bytes more = consumer.lonely || crosses
                           ? arc.streamed
                           : std::min(arc.fused - arc.streamed, arc.streamed);
    shares_[p].sram[phase(producer)] += more;
  }

  /// Compute and network, and what neither can hide of the other and of memory.
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

  /// Rows that are not wanted are 0, with all that other bounds put on top of them.
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

  /// A producer with many consumers: the least that its tensors move through
  /// memory because SRAM has no room for all of the consumers beside it, always
  /// crossing ones aside.
  [[nodiscard]] Ticks transfers_without_room(std::size_t producer) const {
    if (!tables_.bounds().use(SearchBound::Fanout)) return 0;
    struct Consumer {
      Ticks transfers = 0;
      Bytes room{};  // that it takes when it is fused with the producer
    };
    std::map<std::uint32_t, Consumer> consumers;
    Bytes room = tables_.sram() - tables_.kernel(producer).weight;
    for (const Arc& arc : tables_.inputs(producer)) room -= arc.streamed;
    for (const Arc& arc : tables_.outputs(producer)) {
      room -= arc.streamed;
      if (arc.transfer == 0 || !tables_.may_share(producer, arc.other)) continue;
      Consumer& consumer = consumers[arc.other];
      if (consumer.transfers == 0) consumer.room = tables_.kernel(arc.other).weight;
      consumer.transfers += 2 * arc.transfer;  // a store and a load
      consumer.room += arc.fused - arc.streamed;
    }
    std::vector<Consumer> list;
    Ticks forced = 0;
    Bytes wanted{};
    for (const auto& [position, consumer] : consumers) {
      list.push_back(consumer);
      forced += consumer.transfers;
      wanted += consumer.room;
    }
    if (wanted <= room) return 0;
    const auto density = [](const Consumer& consumer) {
      return consumer.room > Bytes{}
                 ? static_cast<double>(consumer.transfers) / consumer.room.in_base_units()
                 : std::numeric_limits<double>::infinity();
    };
    std::sort(list.begin(), list.end(),
              [&](const Consumer& a, const Consumer& b) { return density(a) > density(b); });
    for (const Consumer& consumer : list) {
      if (consumer.room > room) {
        // The fraction that fits, rounded up and one more for its own rounding.
        const double part = room > Bytes{} ? room / consumer.room : 0.0;
        forced -= static_cast<Ticks>(std::ceil(static_cast<double>(consumer.transfers) * part)) + 1;
        break;
      }
      forced -= consumer.transfers;
      room -= consumer.room;
    }
    return std::max<Ticks>(0, forced);
  }

  const FusionTables& tables_;
  std::vector<Rest> shares_;
  std::vector<Ticks> forced_memory_;  // per kernel: memory time in every mapping
  MostBeside most_compute_;
  MostBeside most_network_;
};

}  // namespace

std::vector<Rest> rest_shares(const FusionTables& tables) { return ShareBuilder(tables).build(); }

}  // namespace dfsearch
