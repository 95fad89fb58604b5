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

/// Bytes and time of a GEMM in one level, or in the memory, which is the last.
struct GemmLevel {
  Bytes bytes{};
  Seconds time{};  ///< with the latency of an access
};

struct GemmTime {
  Seconds compute{};
  std::vector<GemmLevel> levels;  ///< levels of the chip, then the memory if there is one
  Seconds time{};                 ///< with the launch
};

/// The time of C[m x n] = A[m x k] B[k x n] on the chip, which is feasible.
GemmTime gemm_time(const Technology& technology, const Chip& chip, const Shard& gemm, Bytes word,
                   Seconds launch_overhead);

/// Which operand stays in the array, by the extents of a GEMM: that without the longest one.
Dataflow published_dataflow(const Shard& gemm);

/// Nothing for a chip that is not one of three levels and a memory, for a technology without the
/// width of its multiply-add unit, and where a level holds no tile.
std::optional<Seconds> published_gemm_time(const Technology& technology, const Chip& chip,
                                           const Shard& gemm, Dataflow dataflow, Bytes word,
                                           Seconds launch_overhead);

/// The least value, the quartiles between (by linear interpolation) and the greatest.
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

/// FLOP for each word that passes between the memory and a level of `words` words, over the tiles
/// of powers of two that fit there, with each of the operands staying in turn, and over the ways to
/// share the GEMM among the chips.  DeepFlow (Ardalani et al.), figure 1.  At least three words.
GemmIntensities gemm_intensities(const Shard& gemm, std::int64_t chips, std::int64_t words);

}  // namespace dfsearch
