#pragma once
// The order in which a framework numbers its ranks, and where a plan has them in the network.

#include <initializer_list>
#include <string>
#include <string_view>

#include "io/text/json_text.hpp"

namespace dfsearch {

/// Whether the chips of each role lie in the dimensions of the network as the plan of a result has
/// them, if ranks are numbered role by role, the first role fastest.  Nothing is said against a
/// grid, where torchrun numbers the chips as the user has it.
bool is_numbered_so(const Json& result, std::initializer_list<std::string_view> roles);

/// "tensor 4 x data 2, then data 128": the innermost dimension first.
std::string placement_text(const Json& result);

}  // namespace dfsearch
