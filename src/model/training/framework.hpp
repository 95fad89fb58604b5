#pragma once
// Plans that the frameworks of training, Megatron-LM (core 0.16), torchtitan (0.2) and DeepSpeed
// (0.18), refuse in their arguments (docs/training.md, section 6), and the orders in which they
// number ranks.

#include <cstdint>
#include <initializer_list>
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

/// The reasons for which a framework refuses all plans with the degrees; none if it runs some.
std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Degrees& degrees);
/// The reasons for which it refuses a plan, its degrees included; network and layers are not read.
std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Plan& plan);

/// Role by role, the first one fastest.
using RankOrder = std::initializer_list<Role>;
/// The order of all frameworks of training by default.
inline constexpr RankOrder kUsualOrder = {Role::Tensor, Role::Context, Role::Expert, Role::Data,
                                          Role::Pipeline};
/// The order of Megatron-LM with --use-tp-pp-dp-mapping, which excludes context ranks and
/// expert ranks.
inline constexpr RankOrder kStagesInside = {Role::Tensor, Role::Context, Role::Expert,
                                            Role::Pipeline, Role::Data};

/// Whether ranks that are numbered so have the chips of each role in each dimension of the network,
/// innermost first.  Chips of a mesh are numbered as its user has them.
bool is_numbered_so(const std::vector<Division>& network, RankOrder order);

/// Whether a framework has an order that numbers them so, with that layout among tensor ranks.
bool can_number(Framework framework, const std::vector<Division>& network, TensorLayout layout);

}  // namespace dfsearch::training
