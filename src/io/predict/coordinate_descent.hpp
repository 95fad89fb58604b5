#pragma once
// The least of a function of a few numbers in their ranges, without its derivatives.

#include <functional>
#include <vector>

namespace dfsearch {

/// Where a number may be; its logarithm counts if the range does not begin at 0.
struct FitRange {
  double low = 0.0, high = 1.0;
};

/// Starts at `start` and ends where neither a number alone nor all together along the last change
/// make `objective` less, as far as was looked; never above the start.  Stops early, with the best
/// so far, once `goes_on` says no.  The same for the same objective.
std::vector<double> least_by_coordinates(
    const std::vector<FitRange>& ranges, const std::vector<double>& start,
    const std::function<double(const std::vector<double>&)>& objective,
    const std::function<bool()>& goes_on);

}  // namespace dfsearch
