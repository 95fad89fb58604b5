#pragma once
// The last check of an answer, of whatever kind.

#include "io/text/json_text.hpp"

namespace dfsearch {

/// Sizes, times, shares, rates and counts are never negative, and differences may be: throws
/// InternalError with the path of a number that is wrong.
void check_signs(const Json& answer);

}  // namespace dfsearch
