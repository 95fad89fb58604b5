#pragma once
// States of an enumeration of partitions that were met before, so that of two with the same
// future only the better one has it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "engine/duals/duals.hpp"
#include "engine/tables/allowance.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// What a state has to offer besides its future: the more worth and the less bytes the better.
struct StateOffer {
  std::array<FineTicks, 3> worth{};  ///< duals less each part of the time
  Bytes sram{};
  std::int64_t kernels = 0;
};

/// A table of states by the sets that decide about their future.  It holds so many at most, and no
/// more than there is memory for, then it learns no more.  Used by one thread.
class MetStates {
 public:
  explicit MetStates(std::size_t most, const Allowance& allowance = {});

  /// Whether a state with the same future, which these sets tell, was met that offers no less; if
  /// not, this one is remembered.
  bool is_worse(const std::array<KernelSet, 3>& future, const StateOffer& offer);
  void clear();

 private:
  struct Future {
    std::size_t hash = 0;
    std::uint32_t next = 0;  // of the same place; places count from 1
    std::array<KernelSet, 3> sets;
    std::vector<StateOffer> offers;  // none is no better than another
  };

  [[nodiscard]] bool has_room(const KernelSet& set);

  const std::size_t most_;
  const Allowance allowance_;
  std::size_t offers_ = 0;
  std::vector<std::uint32_t> heads_;
  std::vector<Future> futures_;
  std::size_t charged_ = 0;  // of these, so many at most
  std::vector<MemoryCharge> memory_;
};

}  // namespace dfsearch
