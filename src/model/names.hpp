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
/// The name of the topology of a dimension, meshes included.
inline const char* topology_name(const NetworkDimension& dimension) {
  if (!dimension.mesh) return name_of(dimension.topology);
  return dimension.mesh->closed ? "torus2d" : "mesh";
}
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
constexpr auto words(Resource) {
  return named<Resource>({{"sram", Resource::Sram},
                          {"memory", Resource::Memory},
                          {"cores", Resource::Cores},
                          {"partitions", Resource::Partitions},
                          {"stages", Resource::Stages},
                          {"precedence", Resource::Precedence},
                          {"phase", Resource::Phase},
                          {"pin", Resource::Pin},
                          {"sharding", Resource::Sharding},
                          {"repeat", Resource::Repeat},
                          {"batch", Resource::Batch},
                          {"tile", Resource::Tile}});
}
constexpr auto words(Bottleneck) {
  return named<Bottleneck>({{"compute", Bottleneck::Compute},
                            {"memory", Bottleneck::Memory},
                            {"network", Bottleneck::Network},
                            {"registers", Bottleneck::Registers},
                            {"L1", Bottleneck::L1},
                            {"L2", Bottleneck::L2}});
}
constexpr auto words(StepBound) {
  return named<StepBound>({{"compute", StepBound::Compute},
                           {"memory", StepBound::Memory},
                           {"network", StepBound::Network},
                           {"bubble", StepBound::Bubble},
                           {"transfer", StepBound::Transfer}});
}

}  // namespace dfsearch
