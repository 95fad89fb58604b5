#pragma once
// Dominance among labels by their excess.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/duals/reduced_cost_weights.hpp"

namespace dfsearch {

/// Pareto archive of excesses with the query whether one of them is no less than a given one in
/// every part.  Where two parts matter at the most, as nearly always, a query takes the logarithm
/// of their number.  Used by one thread.
class LabelDominance {
 public:
  void clear();
  void add(const PartExcess& excess);
  /// Adds the number of comparisons.
  [[nodiscard]] bool has_as_great(const PartExcess& excess, std::int64_t& comparisons) const;

 private:
  struct Point {
    FineTicks first = 0;
    FineTicks second = 0;
  };
  /// The first descends, the second ascends.
  using Front = std::vector<Point>;
  static constexpr std::size_t kKinds = std::size_t{1} << std::tuple_size_v<PartExcess>;

  std::vector<PartExcess> all_;
  /// Front of each kind; a kind is the set of the one or two parts that matter to an excess.
  std::array<Front, kKinds> fronts_;
};

}  // namespace dfsearch
