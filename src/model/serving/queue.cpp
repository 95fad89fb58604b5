// Servers that work on one queue (Erlang 1917; Gross et al., Fundamentals of Queueing Theory).

#include "model/serving/queue.hpp"

#include <cmath>
#include <limits>

namespace dfsearch::serving {

double mean_wait(double load) {
  return load < 1.0 ? load / (2.0 * (1.0 - load)) : std::numeric_limits<double>::infinity();
}

double waiting_share(std::int64_t servers, double load) {
  if (!(load < 1.0)) return 1.0;
  const double offered = load * static_cast<double>(servers);
  // The share that finds all servers busy and goes away (Erlang's B), one server after the other.
  double lost = 1.0;
  for (std::int64_t n = 1; n <= servers; ++n) {
    lost = offered * lost / (static_cast<double>(n) + offered * lost);
  }
  return lost / (1.0 - load * (1.0 - lost));
}

double wait_of_99(std::int64_t servers, double load, double service, double variation) {
  if (!(load < 1.0)) return std::numeric_limits<double>::infinity();
  const double waiting = waiting_share(servers, load);
  if (waiting <= 0.01) return 0.0;
  return std::log(waiting / 0.01) * service * (1.0 + variation) /
         (2.0 * static_cast<double>(servers) * (1.0 - load));
}

}  // namespace dfsearch::serving
