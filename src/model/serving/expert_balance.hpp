#pragma once
// Loads of ranks that hold experts, if some experts are chosen more often than others.

#include <cstdint>

namespace dfsearch::serving {

/// The load of the fullest of `ranks` ranks over the mean, where the k-th of `count` experts is
/// chosen in proportion to k to minus `exponent`, and lies anywhere among the others.  Without
/// copies a rank has experts that follow each other. Copies go, one after the other, to the expert
/// with the most load of a copy; then copies go, by falling load, to the least loaded rank with
/// room, as in LPT (Graham, SIAM Journal on Applied Mathematics 17, 1969).  The ranks divide the
/// experts and copies.
double expert_imbalance(std::int64_t count, std::int64_t ranks, std::int64_t copies,
                        double exponent);

/// Returns the factor f: the fullest of `ranks` with A tokens each on average, all experts alike,
/// has about A + f sqrt(A), the greatest of normal numbers.
double chance_of_ranks(std::int64_t ranks);

}  // namespace dfsearch::serving
