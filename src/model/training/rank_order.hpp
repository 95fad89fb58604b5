#pragma once
// The orders in which frameworks number their ranks, and so where the chips of each role can be.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "model/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// Role by role, the first one fastest.
using RankOrder = std::initializer_list<Role>;
/// That of all frameworks of training, unless told otherwise.
inline constexpr RankOrder kUsualOrder = {Role::Tensor, Role::Context, Role::Expert, Role::Data,
                                          Role::Pipeline};
/// The order of Megatron-LM with --use-tp-pp-dp-mapping, which goes without context ranks and expert
/// ranks.
inline constexpr RankOrder kStagesInside = {Role::Tensor, Role::Context, Role::Expert,
                                            Role::Pipeline, Role::Data};

/// Whether ranks that are numbered so have the chips of each role in each dimension of the network,
/// innermost first.  Chips of a mesh are numbered as its user has them.
bool is_numbered_so(const std::vector<Division>& network, RankOrder order);

/// Whether a framework has an order that numbers them so, with that layout among tensor ranks.
bool can_number(Framework framework, const std::vector<Division>& network, TensorLayout layout);

}  // namespace dfsearch::training
