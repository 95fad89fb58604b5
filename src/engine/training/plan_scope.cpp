#include "engine/training/plan_scope.hpp"

#include <algorithm>
#include <vector>

#include "model/training/plan.hpp"

namespace dfsearch::training {
namespace {

constexpr FixedBeforehand kTensorLayouts{
    .name = "layout: on the front of bytes sent and kept",
    .proved_for = "tensor layouts on the front of bytes sent and kept",
    .untried = "other layouts among tensor ranks",
    .searched_by = "",
};
constexpr FixedBeforehand kLibraryLayouts{
    .name = "layout: those of training libraries",
    .proved_for = "tensor layouts as training libraries have them",
    .untried = "other layouts among tensor ranks",
    .searched_by = "",
};
constexpr FixedBeforehand kTokenLayouts{
    .name = "layouts of context and expert ranks: least_sent",
    .proved_for = "context and expert layouts that send least",
    .untried = "other layouts among context and expert ranks",
    .searched_by = "",
};

}  // namespace

Scope scope_of(const PlanSpace& space) {
  const std::vector<Degrees> inner = space.inner_degrees();
  const auto splits = [&](Role role) {
    return std::any_of(inner.begin(), inner.end(),
                       [&](const Degrees& degrees) { return degrees[role] > 1; });
  };
  Scope scope;
  if (space.task().stack) {
    if (splits(Role::Tensor)) scope.push_back(kLibraryLayouts);
    return scope;
  }
  const bool any_layout = space.task().choices.layouts.empty() && !space.task().framework;
  if (any_layout && splits(Role::Tensor)) scope.push_back(kTensorLayouts);
  if (splits(Role::Context) || splits(Role::Expert)) scope.push_back(kTokenLayouts);
  return scope;
}

}  // namespace dfsearch::training
