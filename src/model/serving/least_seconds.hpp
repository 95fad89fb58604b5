#pragma once
// What no deployment of a task can do better, whatever its degrees: bounds without a search.

#include "model/serving/requests.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Chip-seconds of a request with so much time for each token, or dollars with an axis of cost, at
/// least: (26) to (28) of docs/serving.md.  Infinite where no deployment is so fast.  Any thread.
double least_of_request(const Task& task, const Means& means, FrontAxis axis, double tpot);

}  // namespace dfsearch::serving
