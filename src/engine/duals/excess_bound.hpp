#pragma once
// How much more than they take the duals of a partition can be worth at most, some kernels
// being inside, some outside and the rest undecided (docs/duals.md, section 4).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/duals/duals.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// The least of a few Lagrangian relaxations, kept up to date as kernels are decided and
/// taken back.  A relaxation takes a mean of the parts of the time instead of the longest, sells
/// SRAM at a price, and lets a tensor move some worth from one of its ends to the other.  It is a
/// sum over kernels then.  Refers to tables and duals; used by one thread.
class ExcessBound {
 public:
  /// All kernels are undecided.
  ExcessBound(const FusionTables& tables, const Duals& duals);

  /// Of all partitions with what is inside and some of what is undecided, the charge left
  /// out: duals of the kernels less the time.
  [[nodiscard]] FineTicks most() const {
    FineTicks least = kUnbounded;
    for (std::size_t i = 0; i < used_; ++i) {
      const FineTicks sum = sure_[i] + hoped_[i];
      if (sum < least) least = sum;
    }
    return least;
  }

  /// An undecided kernel is decided; `open` are the other undecided ones.
  void decide(std::size_t kernel, bool inside, const KernelSet& open);
  /// The last decision is taken back; the sets are those after it, `open` as it was given then.
  void take_back(std::size_t kernel, const KernelSet& inside, const KernelSet& open);

  /// Makes the relaxations about as tight as they can be for these decisions, the
  /// present ones.  They hold for any others, too.
  void tighten(const KernelSet& inside, const KernelSet& open);

  /// What makes a relaxation.
  struct Relaxation {
    KernelParts shares{};          ///< of each part in the mean, in 1 / kFinePerTick
    long double price = 0.0L;      ///< of a byte, in fine ticks
    std::vector<FineTicks> moved;  ///< per tensor: from its producer's worth to its consumer's
  };
  using Relaxations = std::shared_ptr<const std::vector<Relaxation>>;
  [[nodiscard]] const Relaxations& relaxations() const { return relaxations_; }
  /// From now on those of another bound, of the same tables and duals; the decisions are the present
  /// ones.
  void take_over(const Relaxations& relaxations, const KernelSet& inside, const KernelSet& open);

 private:
  static constexpr std::size_t kRelaxations = 4;
  static constexpr FineTicks kUnbounded = kGreatestDual;
  using Each = std::array<FineTicks, kRelaxations>;

  /// One of a kernel's tensors, seen from the kernel.
  struct End {
    std::uint32_t other = 0;
    std::uint32_t tensor = 0;
    bool produces = false;
  };
  struct Tensor {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Ticks transfer = 0;
    double shared = 0.0;  ///< bytes of SRAM that each end takes in any case
    double apart = 0.0;   ///< more that one end takes without the other
  };
  /// A relaxation spelled out.
  struct Terms {
    std::vector<FineTicks> worth;  ///< per kernel, with what undecided tensors move
    std::vector<FineTicks> cut;    ///< per tensor: what it costs if one end alone is inside
    FineTicks room = 0;            ///< what all SRAM is worth
  };

  [[nodiscard]] Terms spelled_out(const Relaxation& relaxation) const;
  [[nodiscard]] static FineTicks paid(long double price, double bytes);
  [[nodiscard]] FineTicks settle(const Relaxation& relaxation, Terms& terms,
                                 const KernelSet& inside, const KernelSet& open) const;
  [[nodiscard]] FineTicks balance(Relaxation& relaxation, const KernelSet& inside,
                                  const KernelSet& open) const;
  [[nodiscard]] FineTicks improve_price(Relaxation& relaxation, const KernelSet& inside,
                                        const KernelSet& open) const;
  void use(std::size_t place, const KernelSet& inside, const KernelSet& open);
  [[nodiscard]] long double first_price(const KernelParts& shares) const;

  const FusionTables& tables_;
  const Duals& duals_;
  const Overlap overlap_;
  const double sram_;
  long double greatest_price_ = 0.0L;  // with which all can be added up
  std::vector<Tensor> tensors_;
  std::vector<std::uint32_t> end_begin_;
  std::vector<End> ends_;
  std::vector<double> bytes_;  // per kernel: its weight and its halves of buffers
  Relaxations relaxations_;
  std::size_t used_ = 0;  // none: sums could overflow, and nothing is known
  // Of the first `used_` relaxations.
  std::vector<Each> base_;   // per kernel: what it is worth without its tensors
  std::vector<Each> worth_;  // per undecided kernel, as far as its tensors are decided
  std::vector<Each> cut_;    // per tensor
  std::vector<Each> moved_;  // per tensor
  Each sure_{};              // of what is inside
  Each hoped_{};             // of what is undecided: the sum of what is worth something
};

}  // namespace dfsearch
