// The chips of a replica share its weights, its cache and its products at best evenly, and the
// network costs nothing: what is left is the least of one chip.

#include "model/serving/least_seconds.hpp"

#include <algorithm>
#include <limits>

#include "model/serving/pass.hpp"
#include "model/serving/speculation.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {

double least_of_request(const Task& task, const Means& means, FrontAxis axis, double tpot) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double gained = 1.0;
  for (const std::int64_t depth : task.speculation.depths) {
    gained = std::max(gained, gain_of(task.speculation, depth).gained);
  }
  const Cached reserved = reserved_tokens(task, means, task.model.window);
  double decoding = kNever, prefill = kNever, waiting = kNever;
  Structure one;
  for (one.pool = 0; one.pool < task.pools.size(); ++one.pool) {
    const Pool& pool = task.pools[one.pool];
    const double chips = real(pool.chips);
    const double weight = axis == FrontAxis::Cost ? pool.price / 3600.0 : 1.0;
    for (one.precision = 0; one.precision < task.precisions.size(); ++one.precision) {
      const Pass pass(task, task.model, means, one);
      const LeastTimes least = pass.least_times();
      prefill = std::min(prefill, weight * (least.token * means.fresh + least.pairs));
      decoding =
          std::min(decoding, weight * means.steps * (least.token + least.head + least.context));
      // Requests for each chip that it can read the cache of in time, and hold.
      const double read = (tpot * gained - least.host - least.weights / chips) / least.cache;
      const double room = pool.usable().in_base_units() - pool.engine.reserved.in_base_units() -
                          pass.weights(0) / chips;
      const double held = room / pass.cached_bytes(reserved);
      const double requests = std::min(read, held);
      if (requests > 0.0) waiting = std::min(waiting, weight * means.steps * tpot / requests);
    }
  }
  return std::max(waiting, prefill + decoding);
}

}  // namespace dfsearch::serving
