#include "technology/gemm.hpp"

#include <algorithm>
#include <optional>

#include "model/layer/level_traffic.hpp"

namespace dfsearch {

// docs/technology.md (21)
GemmTime gemm_time(const Technology& technology, const Chip& chip, const Shard& gemm, Bytes word,
                   Seconds launch_overhead) {
  GemmTime result;
  const double flops =
      2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n);
  result.compute = Flops(flops) / chip.core.usable;
  result.time = result.compute;
  std::optional<Bytes> inner;  // the share of the level further in
  const auto add = [&](BytesPerSecond bandwidth, Seconds latency) {
    const double words = inner ? tiled_words(gemm, words_of(*inner, word))
                               : array_words(gemm, technology.core.lanes, technology.core.stages);
    const Bytes bytes = word * words;
    result.levels.push_back({bytes, bytes / bandwidth + latency});
    result.time = std::max(result.time, result.levels.back().time);
  };
  for (const ChipLevel& level : chip.levels) {
    add(level.bandwidth, level.latency);
    inner = level.share;
  }
  if (chip.memory) add(chip.memory->bandwidth, chip.memory->latency);
  result.time += launch_overhead;
  return result;
}

}  // namespace dfsearch
