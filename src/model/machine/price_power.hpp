#pragma once
// What the machine costs and draws (docs/model.md, section 8), which depends on the
// machine and the degrees of its dimensions only.

#include <cstdint>
#include <vector>

#include "model/machine/system.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// `network` is that of one of `copies` equal parts of the machine.
Dollars system_price(const System& system, const std::vector<Mapping::Dimension>& network,
                     std::int64_t copies = 1);
Watts system_power(const System& system, const std::vector<Mapping::Dimension>& network,
                   std::int64_t copies = 1);

}  // namespace dfsearch
