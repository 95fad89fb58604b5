#pragma once
// How the parts of a plan are fused, for people.

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/evaluate.hpp"
#include "model/training/block.hpp"
#include "model/training/fused_part.hpp"

namespace dfsearch::training {

struct FusedSummary {
  struct Partition {
    std::vector<std::string> kernels;
    Seconds time{};  ///< of a micro-batch
    Bottleneck bound_by = Bottleneck::Compute;
    Bytes sram{};
  };
  const char* part = "layer";  ///< or "expert_layer", "full_layer", "first", "last"
  FusedKind kind = FusedKind::Forward;
  Seconds time{};                     ///< of a micro-batch
  std::int64_t tile = 0;              ///< tokens
  std::vector<Partition> partitions;  ///< none: kernels run one by one
};

/// "layer", "expert_layer" or of layers that alternate "full_layer", "first", "last".
const char* name_of(Part part, const Transformer& model);

/// All passes of the parts that the model has; empty where kernels run one by one.
std::vector<FusedSummary> fused_summary(const Task& task, const Plan& plan, const Fusions& fusions);

}  // namespace dfsearch::training
