#pragma once
// The time of the conversions of a value, for any loops of the kernels at its ends.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/loop_set.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {

/// The tensors that are converted together, and the seconds of their conversions over all tiles.
/// Immutable.
class ValueTimes {
 public:
  /// `tensors` belong to one value; `sets` has the possible loops.
  ValueTimes(const NetworkContext& context, const std::vector<Tensor>& tensors,
             const LoopSets& sets);

  [[nodiscard]] std::size_t producer() const { return producer_; }
  /// The kernels at its ends, ascending.
  [[nodiscard]] const std::vector<std::size_t>& ends() const { return ends_; }
  /// `sharding` has a loop for every kernel; only loops at the ends count.
  [[nodiscard]] double seconds(const std::vector<LoopPair>& sharding) const;

 private:
  struct Reader {
    std::size_t kernel;
    std::vector<std::uint8_t> wants;           // by pair
    std::vector<std::vector<double>> seconds;  // by pair, and by pair of the producer
  };

  friend class ValueTermMaker;

  std::size_t producer_;
  std::vector<std::size_t> ends_;
  std::vector<Reader> readers_;
};

/// Seconds for every combination of some variables, the first of them running slowest; infinite
/// where a combination is not allowed.
struct ValueTerm {
  std::vector<std::size_t> variables;  ///< ascending
  std::vector<double> seconds;
};

/// The conversions of a value as terms of a sum for `least_sum`.  There is no table for ends with
/// many combinations of loops: each possible layout becomes a variable of two values, appended to
/// `sizes`, whose first entries are the sizes of `sets`.  At their least the terms add up to no
/// more than the conversions take (docs/search.md, section 9).
std::vector<ValueTerm> value_terms(const ValueTimes& value, const LoopSets& sets,
                                   std::vector<std::size_t>& sizes);

}  // namespace dfsearch
