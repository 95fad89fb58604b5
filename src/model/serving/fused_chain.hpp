#pragma once
// The kernels of a layer on a chip with dataflow: a chain, cut into partitions that run one after
// the other, each all of its kernels at once (docs/serving.md, section 4).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/problem.hpp"

namespace dfsearch::serving {

/// The parts of the time of a pass.
enum class Part : std::uint8_t { Weights, Cache, Products, Network, Host };
inline constexpr std::size_t kParts = 5;
constexpr auto words(Part) {
  return named<Part>("weights", "cache", "products", "network", "host");
}
using PartTimes = std::array<double, kParts>;
inline double& of(PartTimes& parts, Part part) { return parts[static_cast<std::size_t>(part)]; }

/// Seconds of one kernel, if it had the chip, its memory and its links for itself.
struct FusedKernel {
  double products = 0.0;
  double weights = 0.0;
  double cache = 0.0;
  double network = 0.0;
  double in = 0.0, out = 0.0;  ///< of memory, where its neighbour is in another partition
  double bytes = 0.0;          ///< of its weight
};

/// The least time of all cuts: the weights of a partition of several kernels fit the SRAM, a kernel
/// alone may read its weight in pieces.  What hides behind something longer has no time of its own.
/// Of equal cuts that with the longest first partitions.
PartTimes least_fused(const std::vector<FusedKernel>& chain, Bytes sram, Overlap overlap);

}  // namespace dfsearch::serving
