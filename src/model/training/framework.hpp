#pragma once
// What frameworks of training can run of a plan: Megatron-LM (core 0.13), torchtitan and DeepSpeed,
// as read in their arguments (io/emit/training_arguments.cpp writes these).

#include "model/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// Whether interleaved stages have equal chunks: those of Megatron do, unless a layout names the
/// layers of every chunk, which a plan does not.
constexpr bool has_equal_chunks(Framework framework) { return framework == Framework::Megatron; }

/// Whether a framework runs the layout, schedule, ZeRO and offload of a plan together.  Layouts of
/// the front are no library's; stages of any layers are every framework's, but for interleaved ones
/// of equal chunks.
constexpr bool runs(Framework framework, const Plan& plan) {
  if (plan.layout > TensorLayout::WholeExperts) return false;
  const bool is_plain = plan.schedule == Schedule::OneForwardOneBackward;
  const bool is_interleaved = plan.schedule == Schedule::Interleaved;
  switch (framework) {
    case Framework::Megatron:
      return (is_plain || is_interleaved) && !plan.offload.weights;
    case Framework::Torchtitan:
      return (is_plain || is_interleaved || plan.schedule == Schedule::GPipe) && plan.zero != 1 &&
             !plan.offload.any() &&
             (plan.layout == TensorLayout::LeastKept || plan.degrees[Role::Tensor] == 1) &&
             (plan.zero > 0 || plan.degrees[Role::Context] == 1);
    case Framework::Deepspeed:
      return is_plain && (plan.zero <= 1 || plan.degrees[Role::Pipeline] == 1);
    case Framework::Vllm:
    case Framework::Sglang:
    case Framework::Trtllm:
      return false;
  }
  return false;
}

}  // namespace dfsearch::training
