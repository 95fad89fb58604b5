#pragma once
// Units that only configs of kind llm_serving have.

#include "schema/schema.hpp"

namespace dfsearch {

/// Of a resource, that is used.
inline constexpr Interval kServedShare{1e-6, 1.0};

/// "2 $/h"
const Type& price_per_hour();
/// "40 /s"
const Type& requests_per_second();

}  // namespace dfsearch
