#pragma once
// The names that configs and results use for the enumerations of searches and their results.

#include "engine/search_result.hpp"
#include "engine/tree/limits.hpp"

namespace dfsearch {

const char* name_of(SearchStatus status);
const char* name_of(StopReason reason);  ///< empty for StopReason::None
const char* name_of(Raised what);

}  // namespace dfsearch
