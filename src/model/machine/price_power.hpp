#pragma once
// The price and the power of the machine (docs/model.md, section 8), which depend on the machine,
// the degrees of its dimensions and the copies of the workload only.

#include <vector>

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// `network` is the network of one copy of the workload.
Dollars system_price(const Problem& problem, const std::vector<Mapping::Dimension>& network);
Watts system_power(const Problem& problem, const std::vector<Mapping::Dimension>& network);

/// `machine` has all degrees; every chip has links of its own.
Dollars system_price(const Machine& machine);
Watts system_power(const Machine& machine);

}  // namespace dfsearch
