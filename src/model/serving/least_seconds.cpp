// Numbers are equations of docs/serving.md.  A replica shares at best evenly among its chips what
// one chip would read and multiply for it, and the network takes no time.
// - (26): tpot E is p periods, of which none is shorter than a stage, so it is no less than all
//   layers of a micro-batch; a rank's batch on t chips reads no less than batch/t caches on each,
//   and batch/t is b.
// - (27): the fullest stage has no less than the mean.
// - (28): a replica serves batch p ranks E / (J p T), which is b / (steps tpot) for each chip; the
//   chips that prefill come on top; and no kernel is shorter than its products.
// With prices the least over all pools of each side counts.

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
