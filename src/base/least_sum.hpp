#pragma once
// The exact least sum of many small terms over finite variables, or for two criteria all sums that
// no other dominates.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/elimination_order.hpp"

namespace dfsearch {

/// Values that are compared lexicographically.
using LexicographicSum = std::array<double, 3>;

/// A term of the sum: its value for every combination of its variables' values,
/// the first variable running slowest.  Infinite where a combination is not allowed.
template <class Value>
struct SumTermOf {
  std::vector<std::size_t> variables;  ///< ascending
  std::vector<Value> values;
};
using SumTerm = SumTermOf<double>;
using LexicographicSumTerm = SumTermOf<LexicographicSum>;

/// The values 0 .. sizes[v]-1 of all variables that make the sum of the terms least; ties go to the
/// lesser value, variable by variable.  Terms mention only variables of more than one value; other
/// variables have value 0.  Nothing if it would take more than `most_steps` elementary steps.
/// Throws Stopped.
std::optional<std::vector<std::uint8_t>> least_sum(const std::vector<std::size_t>& sizes,
                                                   const std::vector<SumTerm>& terms,
                                                   double most_steps,
                                                   const Deadline& deadline = {});
/// The least sum by an elimination order that was found for the variables of the terms.
std::vector<std::uint8_t> least_sum(const std::vector<std::size_t>& sizes,
                                    const std::vector<SumTerm>& terms,
                                    const EliminationOrder& order, const Deadline& deadline = {});
/// The least sum in lexicographic order: no difference in the second number outweighs one in the
/// first.
std::optional<std::vector<std::uint8_t>> least_sum(const std::vector<std::size_t>& sizes,
                                                   const std::vector<LexicographicSumTerm>& terms,
                                                   double most_steps,
                                                   const Deadline& deadline = {});

/// A sum of two criteria and a third number for ties, and the values of all variables.
struct FrontSum {
  LexicographicSum sum{};
  std::vector<std::uint8_t> values;
};

/// The sums that no other sum dominates in the first two numbers: no other is at most as large in
/// both and less in one.  Each pair of numbers appears once, with the least third number; further
/// ties go to the first choice, variable by variable.  Sums ascend in the first number and so
/// descend in the second.  A combination that is not allowed is infinite in one of the two; if none
/// is allowed, the result is empty.  Sums of the numbers must be exact, as sums of whole numbers
/// below 2^53 are.  Variables, steps and Stopped are as in least_sum.
std::optional<std::vector<FrontSum>> sum_front(const std::vector<std::size_t>& sizes,
                                               const std::vector<LexicographicSumTerm>& terms,
                                               double most_steps, const Deadline& deadline = {});

}  // namespace dfsearch
