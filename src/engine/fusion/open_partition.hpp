#pragma once
// A partition in the making, with its costs kept up to date kernel by kernel.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_time.hpp"
#include "engine/tree/effort.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// A partition in the making after an order ideal of done kernels.  Kernels are put in or kept out;
/// the last decision can be taken back.  Each decision takes time in proportion to the tensors of
/// the kernels that it decides or, if these are the majority, to the undecided kernels left.  Used
/// by one thread.
class OpenPartition {
 public:
  /// `duals` are the duals of the tables, or null.
  OpenPartition(const FusionTables& tables, const KernelSet& done,
                const PartitionDuals* duals = nullptr);

  /// Sums over the kernels inside, as if the partition were closed now.
  struct Totals : SummedTimes {
    Ticks sure_memory = 0;  ///< memory time that no later decision saves
    Bytes sram{};
    Bytes leaving{};  ///< stored tensors that leave the partition
    std::int64_t pinned = 0;
    std::int64_t backward = 0;
    // Only with duals: for each part of the time, the least amount that kernels which are not
    // inside will still add.  A kernel that joins adds to this part of the partition's time; any
    // other adds to the time of later partitions.
    std::array<FineTicks, 3> dual{};
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::span<const std::uint32_t> kernels() const { return kernels_; }
  /// Bounds of the kernels kept out; the memory row is 0.
  [[nodiscard]] const Rest& outside() const { return outside_; }

  [[nodiscard]] bool undecided(std::size_t p) const { return undecided_.contains(p); }
  [[nodiscard]] bool is_inside(std::size_t p) const { return inside_.contains(p); }
  [[nodiscard]] bool is_outside(std::size_t p) const { return outside_kernels_.contains(p); }
  /// The first undecided kernel at or after `from` whose producers are all done
  /// or inside; at least `ready_end()` if there is none.
  [[nodiscard]] std::size_t first_ready(std::size_t from) const;
  [[nodiscard]] std::size_t ready_end() const { return ready_.end(); }

  /// Whether the rules for cores, SRAM and repeats let the kernel join.  If not, they never will
  /// while the present kernels stay.
  [[nodiscard]] bool fits(std::size_t p) const;

  /// `p` is undecided and ready.
  void put_in(std::size_t p);
  /// Puts the kernel in if it fits; returns whether it does.
  bool put_in_if_fits(std::size_t p);
  /// Takes back the last put_in, which was of `p`; `before` has the totals before that.
  void take_out(std::size_t p, const Totals& before);
  /// Takes back every put_in.  Requires that there are no duals.
  void take_out_all();

  /// Adds a ready kernel to the done kernels.  Requires that no kernel is inside or outside and
  /// that there are no duals.
  void put_before(std::size_t p);
  /// Moves all kernels inside to the done kernels; each must have been ready when it joined.
  /// Requires that there are no duals and that no kernel was kept out.
  void close();

  /// Decides that the kernel and all its descendants stay out.
  void keep_out(std::size_t p);
  [[nodiscard]] std::size_t mark() const { return kept_out_; }
  /// Takes back every keep_out since the mark.
  void undo_to(std::size_t mark);

  /// Whether memory has room for all stored tensors while the partition runs.
  [[nodiscard]] bool fits_in_memory() const {
    return waiting_ + totals_.leaving <= tables_.capacity_for_activations();
  }

  /// Lower bound by the duals on the time of this and all later partitions, before charges.
  /// Requires duals.
  [[nodiscard]] FineTicks dual_time() const;

  /// Time of the partition if it were closed now; kNever if the cores do not suffice, and possibly
  /// if the time is above `limit`.
  [[nodiscard]] Ticks time(Ticks limit);
  /// Work of dividing the cores in `time`; 0 if a utilization is given.
  [[nodiscard]] Work allocation_work() const {
    constexpr Work kWordsOfKernel = 100;
    const bool divides = !kernels_.empty() && tables_.kernel(kernels_.front()).options != nullptr;
    return divides ? kWordsOfKernel * static_cast<Work>(kernels_.size()) : 0;
  }

 private:
  /// Shares of some kernels in the bounds of the kernels outside (not in the memory row) and in the
  /// duals.
  struct Shares {
    std::array<Ticks, kBoundRows> bound{};
    std::array<FineTicks, 3> dual{};
    Shares& operator+=(const Shares& other);
    Shares& operator-=(const Shares& other);
  };
  /// The decision that a kernel and its descendants stay out.
  struct KeptOut {
    KernelSet kernels;
    Shares shares;
    Ticks sure_memory = 0;
  };

  [[nodiscard]] bool may_join(std::size_t p) const;
  [[nodiscard]] Bytes sram_change(std::size_t p) const;
  void put_in(std::size_t p, Bytes sram_change);
  void remove_last(std::size_t p);
  void add_share(std::size_t p, Shares& sum) const;
  [[nodiscard]] Shares shares(const KernelSet& kernels) const;
  [[nodiscard]] Shares shares_of_many(const KernelSet& some);

  const FusionTables& tables_;
  const PartitionDuals* duals_;
  Totals totals_;
  Rest outside_;
  Bytes waiting_{};  // stored tensors that leave the done kernels
  KernelSet undecided_;
  KernelSet inside_;
  KernelSet outside_kernels_;
  std::optional<Shares> undecided_shares_;  // computed on demand
  std::vector<std::uint32_t> missing_;      // inputs from kernels that are neither done nor inside
  KernelSet ready_;                         // not done, no missing inputs; decided or not
  std::vector<std::uint32_t> kernels_;      // inside, in the order of joining
  std::vector<KeptOut> trail_;  // the first `kept_out_` are valid; the others keep memory
  std::size_t kept_out_ = 0;
  KernelSet others_;                                     // scratch of shares_of_many
  std::vector<const std::vector<CoreOption>*> options_;  // scratch of time()
};

}  // namespace dfsearch
