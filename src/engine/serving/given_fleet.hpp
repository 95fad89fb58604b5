#pragma once
// Judgement of a given mix of deployments of several models.

#include <vector>

#include "engine/serving/find_deployment.hpp"
#include "model/ruled_out.hpp"

namespace dfsearch::serving {

/// The mix with its cost and the figures of each part.  Adds a reason for each decision that its
/// model does not allow, and for each limit, rate, pool and budget that the mix does not keep.
ServingResult judged_fleet(const Fleet& fleet, std::vector<FleetPart> parts, RuledOut& reasons);

}  // namespace dfsearch::serving
