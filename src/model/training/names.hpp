#pragma once
// The names that configs and results use for the decisions of a plan.

#include <string>

#include "base/words.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

constexpr auto words(Role) {
  return named<Role>({{"tensor", Role::Tensor},
                      {"context", Role::Context},
                      {"expert", Role::Expert},
                      {"data", Role::Data},
                      {"pipeline", Role::Pipeline}});
}
constexpr auto words(Schedule) {
  return named<Schedule>({{"1f1b", Schedule::OneForwardOneBackward},
                          {"interleaved", Schedule::Interleaved},
                          {"zb_h1", Schedule::ZeroBubble},
                          {"gpipe", Schedule::GPipe}});
}
constexpr auto words(Recompute) {
  return named<Recompute>(
      {{"none", Recompute::None}, {"selective", Recompute::Selective}, {"full", Recompute::Full}});
}

using dfsearch::name_of;
/// With those that no config asks for, of plans that were run.
inline const char* name_of(Schedule schedule) {
  return schedule == Schedule::DualPipe ? "dualpipe" : dfsearch::name_of(schedule);
}
inline const char* name_of(Recompute recompute) {
  return recompute == Recompute::EverySecondProduct ? "op_sac" : dfsearch::name_of(recompute);
}
/// least_sent, least_kept, whole_experts, and front_1, front_2, ... for the places in the front.
inline std::string name_of(TensorLayout layout) {
  if (layout == TensorLayout::LeastSent) return "least_sent";
  if (layout == TensorLayout::LeastKept) return "least_kept";
  if (layout == TensorLayout::WholeExperts) return "whole_experts";
  return "front_" + std::to_string(place_in_front(layout));
}

}  // namespace dfsearch::training
