#pragma once
// The dataflow of the systolic arrays: which operand of a product stays while the others stream
// (docs/model.md, section 6; Ardalani et al., DeepFlow, section 4.2.1).

#include <array>
#include <cstdint>
#include <span>

#include "model/layer/shard.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping.hpp"

namespace dfsearch {

/// The extents of a product by what an array does with them.
struct ArrayExtents {
  std::int64_t lanes = 1;     ///< spread over its lanes
  std::int64_t stages = 1;    ///< spread over its stages
  std::int64_t streamed = 1;  ///< what passes, one cycle each
};
/// Of a weight of m x k and an input of k x n.
ArrayExtents array_extents(const Shard& gemm, Dataflow dataflow);

/// What a machine may choose from, in the order of ties.
std::span<const Dataflow> dataflows_of(const Accelerator& accelerator);

/// The words of a product that the arrays take from their registers and give to them.
double register_words(const Shard& gemm, const Accelerator& accelerator, Dataflow dataflow);

}  // namespace dfsearch
