#pragma once
// Waits in a queue.  Services last seconds; a load is a share of what all servers can do.

#include <cstdint>

namespace dfsearch::serving {

/// The mean wait of M/D/1 in units of its service; infinite from a load of 1 on.
double mean_wait(double load);

/// Erlang's C: the share of arrivals that wait where `servers` have this load each.
double waiting_share(std::int64_t servers, double load);

/// The wait that 99 of 100 arrivals do not exceed: an approximation of M/G/c with services whose
/// squared coefficient of variation is `variation` (Lee and Longton, Operational Research Quarterly
/// 1959; an exponential tail).  Infinite from a load of 1 on.
double wait_of_99(std::int64_t servers, double load, double service, double variation);

}  // namespace dfsearch::serving
