#pragma once
// What would make an infeasible problem feasible, one quantity at a time.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/limits.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A quantity that may be raised, all else as it is.
enum class Raised : std::uint8_t {
  Memory,      ///< capacity of a chip, of the first tier, in bytes
  Sram,        ///< of a chip, in bytes
  Partitions,  ///< how many there may be
  Degree,      ///< of one network dimension; the number of chips grows with it
};

/// How far a quantity must be raised for a mapping to fit; bytes are whole.
struct FeasibleChange {
  Raised what = Raised::Sram;
  std::size_t dimension = 0;  ///< of Raised::Degree
  double from = 0.0;          ///< what the problem has
  /// Proved: with less, from `from` on, nothing fits.
  double at_least = 0.0;
  /// With so much a mapping fits; the least such value if it equals `at_least`.
  double enough = 0.0;

  [[nodiscard]] bool is_exact() const { return at_least == enough; }
};

/// The changes that suffice by themselves, the one that raises its quantity by the
/// smallest part first.  The problem is infeasible.  The effort is bounded: where
/// it ran out a change is not exact or missing.  `limits` may end it earlier.
std::vector<FeasibleChange> feasible_changes(const Problem& problem, const Limits& limits);

const char* to_string(Raised what);

}  // namespace dfsearch
