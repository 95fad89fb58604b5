#pragma once
// Questions that are answered in closed form, without a search (docs/hpc.md, docs/collectives.md).

#include <array>
#include <string_view>

namespace dfsearch {

/// Sections of a config, each of the name of the command that answers it.
inline constexpr std::array<std::string_view, 3> kClosedForms = {"linpack", "fourier",
                                                                 "collective"};

}  // namespace dfsearch
