#pragma once
// The words for what may have its place in a second memory, in configs and in results.

#include <array>
#include <string_view>
#include <utility>

namespace dfsearch {

/// Every model has an Offload of its own, with the same three members.
template <class Offload>
inline constexpr std::array<std::pair<std::string_view, bool Offload::*>, 3> kOffloads = {
    {{"weights", &Offload::weights},
     {"activations", &Offload::activations},
     {"optimizer", &Offload::optimizer}}};

}  // namespace dfsearch
