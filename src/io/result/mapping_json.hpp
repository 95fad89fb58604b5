#pragma once
// The parts of a mapping that results and events have in common, as JSON.

#include "io/text/json_text.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

Json parallelism_json(const Mapping& mapping);
Json network_json(const Mapping& mapping);

}  // namespace dfsearch
