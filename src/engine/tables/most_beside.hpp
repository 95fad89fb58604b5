#pragma once
// Greatest time of kernels that can share a partition with a given kernel.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// Upper bounds of the sum of one kind of time over a partition that holds a given kernel
/// (docs/search.md, 5.4): the time of the kernel itself plus, by the fractional knapsack (Dantzig
/// 1957) of weights into the remaining SRAM, the time of others that may share a partition with it.
/// Refers to the tables, which need all costs except `share`.  Used by one thread.
class MostBeside {
 public:
  MostBeside(const FusionTables& tables, Ticks KernelCosts::*time) : tables_(tables), time_(time) {}

  /// Bound for any partition that holds the kernel.
  [[nodiscard]] Ticks of(std::size_t anchor);

 private:
  /// Repeats, phase and pin of a kernel, which decide its partners if paths are not considered.
  using Class = std::array<std::int64_t, 3>;

  /// Tables that do not depend on the anchor.
  struct Others {
    std::vector<std::size_t> heavy;  ///< kernels with a weight, by descending time per byte
    std::vector<std::size_t> weightless;
    std::map<Class, Ticks> of_class;  ///< time of the weightless kernels that are not lonely
  };

  [[nodiscard]] Others find_others() const;
  [[nodiscard]] Class class_of(const KernelCosts& kernel) const;
  [[nodiscard]] Ticks weightless_beside(std::size_t anchor) const;

  const FusionTables& tables_;
  Ticks KernelCosts::*const time_;
  std::optional<Others> others_;  // computed on demand
};

}  // namespace dfsearch
