#pragma once

#include "base/units.hpp"

namespace dfsearch {

/// Memory that this process may use: that of the machine, or less where a control group or a
/// limit of the shell says so.
Bytes machine_memory();

}  // namespace dfsearch
