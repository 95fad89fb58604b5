#pragma once
// The names that configs and results use for the enumerations of machines and costs.

#include <array>
#include <cstddef>

#include "base/words.hpp"
#include "model/evaluate.hpp"
#include "model/machine/machine.hpp"
#include "model/problem.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

inline auto words(Topology) {
  std::array<Word<Topology>, kTopologies.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {row_of(kTopologies[i]).name, kTopologies[i]};
  }
  return all;
}
constexpr auto words(Strategy) {
  return named<Strategy>(
      {{"tensor", Strategy::Tensor}, {"pipeline", Strategy::Pipeline}, {"data", Strategy::Data}});
}
constexpr auto words(Dataflow) {
  return named<Dataflow>({{"output", Dataflow::Output},
                          {"weight", Dataflow::Weight},
                          {"input", Dataflow::Input},
                          {"best", Dataflow::Best}});
}
constexpr auto words(MeshSharing) {
  return named<MeshSharing>({{"own", MeshSharing::Own}, {"all", MeshSharing::All}});
}
/// Of a dimension, meshes included.
const char* topology_name(const NetworkDimension& dimension);
constexpr auto words(MeshFill) {
  return named<MeshFill>({{"straight", MeshFill::Straight},
                          {"snake", MeshFill::Snake},
                          {"rows", MeshFill::Rows},
                          {"snake_rows", MeshFill::SnakeRows}});
}
constexpr auto words(LevelName) {
  return named<LevelName>(
      {{"registers", LevelName::Registers}, {"L1", LevelName::L1}, {"L2", LevelName::L2}});
}
constexpr auto words(Objective) {
  return named<Objective>({{"step_time", Objective::StepTime},
                           {"cost_efficiency", Objective::CostEfficiency},
                           {"power_efficiency", Objective::PowerEfficiency},
                           {"bottleneck", Objective::Bottleneck}});
}

const char* name_of(Resource resource);
const char* name_of(Bottleneck bottleneck);
const char* name_of(StepBound bound);

}  // namespace dfsearch
