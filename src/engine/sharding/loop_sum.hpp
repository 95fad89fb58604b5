#pragma once
// LoopSum: times as a sum of terms over single kernels and over the kernels at the ends of values;
// the least weighted sum is found exactly (base/least_sum.hpp).  ValueTimes: the time of converting
// a value, for any loops of the kernels at its ends.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "base/least_sum.hpp"
#include "graph/loop_set.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {

/// The tensors that are converted together, and the seconds of their conversions over all tiles.
/// Immutable.
class ValueTimes {
 public:
  /// `tensors` belong to one value; `sets` has the possible loops of each kernel.
  ValueTimes(const NetworkContext& context, const std::vector<Tensor>& tensors,
             const LoopSets& sets);

  [[nodiscard]] std::size_t producer() const { return producer_; }
  /// The kernels at the ends of the value, ascending.
  [[nodiscard]] const std::vector<std::size_t>& ends() const { return ends_; }
  /// `sharding` has a loop for every kernel; only loops at the ends count.
  [[nodiscard]] double seconds(const std::vector<LoopPair>& sharding) const;

 private:
  struct Reader {
    std::size_t kernel;
    std::vector<std::uint8_t> wants;           // layouts required, by loop pair
    std::vector<std::vector<double>> seconds;  // by loop pair, then by the producer's pair
  };

  friend class ValueTermMaker;

  std::size_t producer_;
  std::vector<std::size_t> ends_;
  std::vector<Reader> readers_;
};

/// Seconds for every combination of values of some variables; the first variable changes slowest.
/// Forbidden combinations are infinite.
struct ValueTerm {
  std::vector<std::size_t> variables;  ///< ascending
  std::vector<double> seconds;
};

/// The conversions of a value as terms of a sum for `least_sum`: one table, unless the ends have
/// too many combinations of loops.  In that case each layout becomes a variable with two values,
/// whose size is appended to `sizes`; the first entries are the sizes of `sets`.  The least sum of
/// the terms is no more than the conversions take (docs/search.md, section 9).
std::vector<ValueTerm> value_terms(const ValueTimes& value, const LoopSets& sets,
                                   std::vector<std::size_t>& sizes);

/// Seconds of each kind, or their weights.
struct LoopTimes {
  double compute = 0.0;
  double memory = 0.0;
  double network = 0.0;

  LoopTimes& operator+=(const LoopTimes& other) {
    compute += other.compute;
    memory += other.memory;
    network += other.network;
    return *this;
  }
  [[nodiscard]] double times(const LoopTimes& weight) const {
    return weight.compute * compute + weight.memory * memory + weight.network * network;
  }
};

/// The times of groups of kernels, as functions of the loops left to each kernel.  A group is a
/// phase or a partition.  Refers to the sets.  Used by one thread.
class LoopSum {
 public:
  /// `groups` has the group of each kernel.  The sum starts with the conversions of all values,
  /// each in the group of its producer, and without times of kernels.  Throws Stopped.
  LoopSum(const NetworkContext& context, const LoopSets& sets, std::vector<std::size_t> groups,
          const Deadline& deadline);

  /// Adds to a group the times that `times_of` returns for each loop of the kernel.
  template <class TimesOf>
  void add(std::size_t kernel, std::size_t group, const TimesOf& times_of) {
    Share& share = terms_[kernel].shares.emplace_back(Share{.group = group, .times = {}});
    for (const LoopPair loop : sets_[kernel]) share.times.push_back(times_of(loop));
  }
  [[nodiscard]] std::size_t group(std::size_t kernel) const { return groups_[kernel]; }
  /// Number of terms.
  [[nodiscard]] std::size_t size() const { return terms_.size(); }

  /// Prepares `minimize`; returns false if that would take more than `most_steps` steps.  Throws
  /// Stopped.
  [[nodiscard]] bool find_order(double most_steps);
  /// Finds the loops whose times make the least sum with the weights of their groups.  Throws
  /// Stopped.
  void minimize(const std::vector<LoopTimes>& weights);

  // Results of the last call of `minimize`:

  [[nodiscard]] const std::vector<std::uint8_t>& values() const { return values_; }
  [[nodiscard]] std::vector<LoopPair> loops() const;
  [[nodiscard]] std::vector<LoopTimes> sums() const;

  /// The excess of each kernel: the weighted sum of its terms at `values`, minus the sum of their
  /// least values.  `values` has the places of loops found before.
  [[nodiscard]] std::vector<double> excess(const std::vector<LoopTimes>& weights,
                                           const std::vector<std::uint8_t>& values);

 private:
  struct Share {
    std::size_t group = 0;
    std::vector<LoopTimes> times;  // the first variable changes slowest
  };
  /// Times that depend on the same kernels.
  struct Term {
    std::vector<std::size_t> variables;  // ascending, kernels first, then layouts of a value
    std::vector<Share> shares;
  };

  void add_value(const ValueTimes& value);
  void weigh(const std::vector<LoopTimes>& weights);
  [[nodiscard]] std::size_t place(const Term& term, const std::vector<std::uint8_t>& values) const;

  const LoopSets& sets_;
  const std::vector<std::size_t> groups_;
  const Deadline& deadline_;
  std::vector<std::size_t> sizes_;   // of the sets, then of the variables that values add
  std::vector<Term> terms_;          // one for each kernel, then the terms of values
  std::vector<SumTerm> summed_;      // the terms that have variables
  std::vector<std::size_t> of_sum_;  // their places in terms_
  EliminationOrder order_;
  std::vector<std::uint8_t> values_;  // of the last call of `minimize`
};

LoopPair loop_at(LoopSet set, std::size_t place);
/// The loop at the given place of each set.  There may be more places than sets.
std::vector<LoopPair> loops_at(const LoopSets& sets, const std::vector<std::uint8_t>& places);

}  // namespace dfsearch
