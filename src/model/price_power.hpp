#pragma once
// What the machine costs and draws (docs/model.md, section 8).  Depends on the
// machine and the degrees of its dimensions only.

#include <vector>

#include "model/mapping.hpp"
#include "model/system.hpp"

namespace dfsearch {

Dollars system_price(const System& system, const std::vector<Mapping::Dimension>& network);
Watts system_power(const System& system, const std::vector<Mapping::Dimension>& network);

}  // namespace dfsearch
