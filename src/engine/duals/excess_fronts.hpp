#pragma once
// Which excesses are no greater than others in any part of the time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/frontier_worth.hpp"

namespace dfsearch {

/// Excesses that were met, of which it is asked whether one is no less than a given one in any
/// part.  Where two parts matter at the most, as nearly always, this takes the logarithm of their
/// number.  Used by one thread.
class ExcessFronts {
 public:
  void clear();
  void add(const FrontierExcess& excess);
  /// Adds to `looks` how many it was compared with.
  [[nodiscard]] bool has_as_great(const FrontierExcess& excess, std::int64_t& looks) const;

 private:
  struct Point {
    FineTicks first = 0;
    FineTicks second = 0;
  };
  /// The first descends, the second ascends.
  using Front = std::vector<Point>;
  static constexpr std::size_t kKinds = std::size_t{1} << std::tuple_size_v<FrontierExcess>;

  std::vector<FrontierExcess> all_;
  /// For each kind, which is a set of two parts or one: of those to which no other parts matter.
  std::array<Front, kKinds> fronts_;
};

}  // namespace dfsearch
