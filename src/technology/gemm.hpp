#pragma once
// A GEMM alone on a chip (docs/technology.md, section 4): a roofline over the levels and the
// memory.

#include <vector>

#include "base/units.hpp"
#include "model/layer/shard.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

/// What a GEMM takes of one level, or of the memory, which is the last.
struct GemmLevel {
  Bytes bytes{};
  Seconds time{};  ///< with the latency of an access
};

struct GemmTime {
  Seconds compute{};
  std::vector<GemmLevel> levels;  ///< those of the chip, then the memory if there is one
  Seconds time{};                 ///< with the launch
};

/// The time of C[m x n] = A[m x k] B[k x n] on the chip, which is feasible.
GemmTime gemm_time(const Technology& technology, const Chip& chip, const Shard& gemm, Bytes word,
                   Seconds launch_overhead);

}  // namespace dfsearch
