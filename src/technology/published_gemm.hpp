#pragma once
// A GEMM alone on a chip as the public code of DeepFlow times it (docs/technology.md,
// section 6): over tiles that are drawn at random, from a fixed seed.

#include <optional>

#include "base/units.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/machine.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

/// Which operand stays in the array, by the extents of a GEMM: that without the longest one.
Dataflow published_dataflow(const Shard& gemm);

/// Nothing for a chip that is not one of three levels and a memory, for a technology that does
/// not say the width of its multiply-add unit, and where a level holds no tile.
std::optional<Seconds> published_gemm_time(const Technology& technology, const Chip& chip,
                                           const Shard& gemm, Dataflow dataflow, Bytes word,
                                           Seconds launch_overhead);

}  // namespace dfsearch
