#include "model/layer/array_dataflow.hpp"

#include "base/error.hpp"
#include "base/number.hpp"

namespace dfsearch {
namespace {

constexpr std::array kDataflows = {Dataflow::Output, Dataflow::Weight, Dataflow::Input};

}  // namespace

// docs/model.md (29)
ArrayExtents array_extents(const Shard& gemm, Dataflow dataflow) {
  switch (dataflow) {
    case Dataflow::Output:
      return {.lanes = gemm.m, .stages = gemm.n, .streamed = gemm.k};
    case Dataflow::Weight:
      return {.lanes = gemm.m, .stages = gemm.k, .streamed = gemm.n};
    case Dataflow::Input:
      return {.lanes = gemm.n, .stages = gemm.k, .streamed = gemm.m};
    case Dataflow::Best:
      break;
  }
  throw InternalError("an array without a dataflow");
}

std::span<const Dataflow> dataflows_of(const Accelerator& accelerator) {
  if (accelerator.dataflow == Dataflow::Best) return kDataflows;
  return {&accelerator.dataflow, 1};
}

/// A word that stays serves so many others: the sum of an output, the pieces of what streams past
/// a weight or an input.
// docs/model.md (29)
double register_words(const Shard& gemm, const Accelerator& accelerator, Dataflow dataflow) {
  const std::int64_t reused = dataflow == Dataflow::Output   ? gemm.k
                              : dataflow == Dataflow::Weight ? ceil_div(gemm.n, accelerator.stages)
                                                             : ceil_div(gemm.m, accelerator.lanes);
  return number(gemm.m) * number(gemm.k) * number(gemm.n) *
         (1.0 / number(reused) + 1.0 / number(accelerator.lanes) +
          1.0 / number(accelerator.stages));
}

}  // namespace dfsearch
