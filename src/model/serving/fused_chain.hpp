#pragma once
// The kernels of a layer on a chip with dataflow: a chain, which is cut into partitions.
// Partitions run one after the other; the kernels of a partition run at once (docs/serving.md,
// section 4).

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
  double in = 0.0, out = 0.0;  ///< of memory traffic, if the neighbour is in another partition
  double bytes = 0.0;          ///< bytes of its weight
};

/// The parts of the least time of all cuts.  The weights of a partition of several kernels must fit
/// in the SRAM; a kernel alone may read its weight in pieces.  A part that is hidden behind a
/// longer one counts 0.  Ties go to the cut with the longest first partitions.
PartTimes least_fused(const std::vector<FusedKernel>& chain, Bytes sram, Overlap overlap);

}  // namespace dfsearch::serving
