#pragma once
// Loads of ranks that hold experts, if some experts are chosen more often than others.

#include <cstdint>

namespace dfsearch::serving {

/// The load of the fullest of `ranks` ranks over the mean load.  The k-th most popular of `count`
/// experts has the load k^-exponent, and popular experts are at arbitrary places.  Without copies a
/// rank has consecutive experts.  Each copy is given to the expert with the most load per copy;
/// then all copies, in order of falling load, are put on the least loaded rank that has room, as in
/// LPT (Graham, SIAM Journal on Applied Mathematics 17, 1969).  `ranks` must divide the number of
/// experts and copies together.
double expert_imbalance(std::int64_t count, std::int64_t ranks, std::int64_t copies,
                        double exponent);

/// Returns f such that, if experts are equally likely and a rank has A tokens on average, the
/// fullest of `ranks` ranks has about A + f sqrt(A) tokens (maximum of normal variables).
double chance_of_ranks(std::int64_t ranks);

}  // namespace dfsearch::serving
