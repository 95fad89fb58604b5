#pragma once
// How the comments of an imported file begin that who runs it at once should know.

#include <string_view>

namespace dfsearch {

inline constexpr std::string_view kLeftOut = "Left out: ";
inline constexpr std::string_view kOfOneChip = "Of one of ";
inline constexpr std::string_view kStoredIn = "Stored in ";

}  // namespace dfsearch
