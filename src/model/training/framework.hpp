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

/// Facts beside the plan on which support depends; 0 or false if a result does not have the fact.
struct ModelFacts {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t tokens = 0;  ///< of a sample
  std::int64_t global_batch = 0;
  bool experts = false;
  bool tied = false;  ///< the head has the weight of the embedding
};

/// The reasons for which a framework refuses all plans with the degrees; empty if it runs some
/// plan.
std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Degrees& degrees);
/// The reasons for which a framework refuses a plan, including its degrees; network and layers are
/// not read.
std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Plan& plan);

/// Roles in the order in which ranks are numbered: the first role varies fastest.
using RankOrder = std::initializer_list<Role>;
/// The order of all frameworks of training by default.
inline constexpr RankOrder kUsualOrder = {Role::Tensor, Role::Context, Role::Expert, Role::Data,
                                          Role::Pipeline};
/// The order of Megatron-LM with --use-tp-pp-dp-mapping, which excludes context ranks and
/// expert ranks.
inline constexpr RankOrder kStagesInside = {Role::Tensor, Role::Context, Role::Expert,
                                            Role::Pipeline, Role::Data};

/// Whether ranks in this order have the given chips of each role in each dimension of the network,
/// innermost first.  On a mesh, users number the chips, so any order is accepted.
bool is_numbered_so(const std::vector<Division>& network, RankOrder order);

/// Whether a framework has an order of ranks that gives this network, for this layout among tensor
/// ranks.
bool can_number(Framework framework, const std::vector<Division>& network, TensorLayout layout);

}  // namespace dfsearch::training
