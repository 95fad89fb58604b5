#pragma once
// Plans that frameworks of training cannot run: those that Megatron-LM (core 0.16), torchtitan (0.2) and
// DeepSpeed (0.18) refuse in their arguments (docs/training.md, section 6).

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// Facts that count beside the plan; 0 or false where a result does not have one.
struct ModelFacts {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t tokens = 0;  ///< of a sample
  std::int64_t global_batch = 0;
  bool experts = false;
  bool tied = false;  ///< the head has the weight of the embedding
};

/// The reasons for which a framework runs no plan with the degrees; none if it runs some.
std::vector<std::string_view> lacks(Framework framework, const ModelFacts& model,
                                    const Degrees& degrees);
/// The reasons for which it does not run a plan, its degrees included; network and layers are not
/// read.
std::vector<std::string_view> lacks(Framework framework, const ModelFacts& model, const Plan& plan);

}  // namespace dfsearch::training
