#pragma once
// The parts of the time of a pass, in seconds.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/words.hpp"

namespace dfsearch::serving {

/// What the time of a pass goes to.
enum class Part : std::uint8_t { Weights, Cache, Products, Network, Host };
inline constexpr std::size_t kParts = 5;
constexpr auto words(Part) {
  return named<Part>({{"weights", Part::Weights},
                      {"cache", Part::Cache},
                      {"products", Part::Products},
                      {"network", Part::Network},
                      {"host", Part::Host}});
}
using PartTimes = std::array<double, kParts>;
inline double& of(PartTimes& parts, Part part) { return parts[static_cast<std::size_t>(part)]; }

}  // namespace dfsearch::serving
