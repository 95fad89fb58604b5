#pragma once
// The ends of a model of memory and its judgement of one chip (docs/truth.md, section 5).  A low
// end that does not fit is the only proof that something does not run.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.hpp"
#include "base/words.hpp"

namespace dfsearch::memory {

/// The end of every constant of a model of memory.  Bounds never mix them.
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

/// The judgement of a plan or a deployment, from the best to the worst.
enum class Verdict : std::uint8_t { Fits, NotAtHigh, MayNotFit, Infeasible };
constexpr auto words(Verdict) {
  return named<Verdict>("fits", "fits, not at the high end", "may not fit", "infeasible");
}

/// `needed` of a chip at each level, which rise, beside what its driver shows.
constexpr Verdict verdict(const ByLevel<Bytes>& needed, Bytes visible) {
  if (needed[Level::High] <= visible) return Verdict::Fits;
  if (needed[Level::Typical] <= visible) return Verdict::NotAtHigh;
  return needed[Level::Low] <= visible ? Verdict::MayNotFit : Verdict::Infeasible;
}

}  // namespace dfsearch::memory
