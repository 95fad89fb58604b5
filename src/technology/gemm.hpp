#pragma once

// A GEMM alone on a chip (docs/technology.md, section 4): a roofline over the levels and the
// memory.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

/// Bytes and time of a GEMM in one level, or in the memory.
struct GemmLevel {
  Bytes bytes{};
  Seconds time{};  ///< with the latency of an access
};

struct GemmTime {
  Seconds compute{};
  std::vector<GemmLevel> levels;  ///< levels of the chip, then the memory if there is one
  Seconds time{};                 ///< with the launch
};

/// The time of C[m x n] = A[m x k] B[k x n] on the chip, which must be feasible.
GemmTime gemm_time(const Technology& technology, const Chip& chip, const Shard& gemm, Bytes word,
                   Seconds launch_overhead);

/// The operand that stays in the array: the one without the longest extent of the GEMM.
Dataflow published_dataflow(const Shard& gemm);

/// The least time by the published code; nothing unless the chip has three levels and a memory,
/// each level holds a tile, and the technology has the width of its multiply-add unit.
std::optional<Seconds> published_gemm_time(const Technology& technology, const Chip& chip,
                                           const Shard& gemm, Dataflow dataflow, Bytes word,
                                           Seconds launch_overhead);

/// The least value, the three quartiles (by linear interpolation) and the greatest value.
using Quartiles = std::array<double, 5>;

struct StrategyIntensities {
  std::string name;  ///< RC-k1-k2: rows over k1 chips, columns over k2; CR-p: the sum over p
  Quartiles quartiles{};
};

struct GemmIntensities {
  std::int64_t chips = 1;
  Quartiles all{};
  std::vector<StrategyIntensities> strategies;
};

/// FLOP per word that passes between the memory and a level of `words` words, over all tiles of
/// powers of two that fit into the level, each of the three operands that may stay in it, and all
/// ways to divide the GEMM among the chips: DeepFlow (Ardalani et al.), figure 1.  `words` is at
/// least 3.
GemmIntensities gemm_intensities(const Shard& gemm, std::int64_t chips, std::int64_t words);

}  // namespace dfsearch
