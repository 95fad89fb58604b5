#pragma once
// A chip that no chip of a box of splits beats in anything (docs/search.md, section 14).

#include <optional>
#include <vector>

#include "model/machine/machine.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// Whether cycles are counted, so that cores and frequency matter apart from their product.
enum class CycleUse : std::uint8_t { Counted, AtUtilization };

/// Each quantity of the chip is at least that of every chip that can be built of a split
/// between `least` and `most`, part by part, but for a rounding.  Nothing if none can.
std::optional<Chip> optimistic_chip(const ChipDesign& design, const Split& least, const Split& most,
                                    const std::vector<NetworkDimension>& network, CycleUse cycles);

}  // namespace dfsearch
