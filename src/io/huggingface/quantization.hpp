#pragma once
// How the numbers of a quantized checkpoint are stored and multiplied.

#include <string>

#include "io/huggingface/model_fields.hpp"

namespace dfsearch {

/// The key `precision` of served workloads (docs/serving.md), empty for a checkpoint that is not
/// quantized: by the field `quantization_config` of its config, or by the file of NVIDIA's Model
/// Optimizer beside it.  Wrong or unknown ways are reported.
std::string precision_of(ModelFields& config);
std::string precision_of_optimizer(ModelFields& file);

}  // namespace dfsearch
