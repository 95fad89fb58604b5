#pragma once
// FLOP for an access of a GEMM that many chips share (docs/technology.md, section 4): not of its best
// tiles, but of all.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/layer/shard.hpp"

namespace dfsearch {

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

/// FLOP for each word that passes between the memory and what holds `words` words, over the tiles of
/// powers of two that fit there, with each of the operands staying in turn, and over the ways to
/// share the GEMM among the chips.  DeepFlow (Ardalani et al.), figure 1.  At least three words.
GemmIntensities gemm_intensities(const Shard& gemm, std::int64_t chips, std::int64_t words);

}  // namespace dfsearch
