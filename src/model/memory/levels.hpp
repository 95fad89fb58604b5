#pragma once
// The levels of a model of memory and its verdict on one chip (docs/truth.md, section 5).  Only
// needs that do not fit at the low level prove that a plan does not run.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "base/words.hpp"

namespace dfsearch::memory {

/// The level of every constant of a model of memory.  A bound has all constants at one level.
enum class Level : std::uint8_t { Low, Typical, High };
constexpr auto words(Level) { return named<Level>("low", "typical", "high"); }
inline constexpr std::array kLevels = {Level::Low, Level::Typical, Level::High};

template <class Value>
class ByLevel : public std::array<Value, kLevels.size()> {
 public:
  using std::array<Value, kLevels.size()>::operator[];
  constexpr Value& operator[](Level level) { return (*this)[static_cast<std::size_t>(level)]; }
  constexpr const Value& operator[](Level level) const {
    return (*this)[static_cast<std::size_t>(level)];
  }
};

/// The verdict on a plan or a deployment, from the best to the worst.
enum class Verdict : std::uint8_t { Fits, NotAtHigh, MayNotFit, Infeasible };
constexpr auto words(Verdict) {
  return named<Verdict>("fits", "fits, not at the high end", "may not fit", "infeasible");
}

/// The verdict if a chip needs these bytes at each level, in ascending order, and its driver shows
/// `visible` bytes.
constexpr Verdict verdict(const ByLevel<Bytes>& needed, Bytes visible) {
  if (needed[Level::High] <= visible) return Verdict::Fits;
  if (needed[Level::Typical] <= visible) return Verdict::NotAtHigh;
  return needed[Level::Low] <= visible ? Verdict::MayNotFit : Verdict::Infeasible;
}

}  // namespace dfsearch::memory
