#pragma once
// The names that configs and results use for the enumerations of chips.

#include "technology/chip.hpp"

namespace dfsearch {

const char* name_of(Component part);
const char* name_of(LinkKind kind);
const char* name_of(LevelScope scope);
const char* name_of(SpeedLimit limit);
const char* name_of(CountLimit limit);
const char* name_of(BudgetClass budget);

}  // namespace dfsearch
