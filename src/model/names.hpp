#pragma once
// The names that configs and results use for the enumerations of machines and costs.

#include "base/words.hpp"
#include "model/evaluate.hpp"
#include "model/machine/machine.hpp"
#include "model/objective_rows.hpp"
#include "model/problem.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

constexpr auto words(Strategy) { return named<Strategy>("tensor", "pipeline", "data"); }
constexpr auto words(Dataflow) { return named<Dataflow>("output", "weight", "input", "best"); }
constexpr auto words(MeshSharing) { return named<MeshSharing>("own", "all"); }
/// The name of the topology of a dimension, meshes included.
inline const char* topology_name(const NetworkDimension& dimension) {
  if (!dimension.mesh) return name_of(dimension.topology);
  return dimension.mesh->closed ? "torus2d" : "mesh";
}
constexpr auto words(MeshFill) {
  return named<MeshFill>("straight", "snake", "rows", "snake_rows");
}
constexpr auto words(LevelName) { return named<LevelName>("registers", "L1", "L2"); }
constexpr auto words(Resource) {
  return named<Resource>("sram", "memory", "cores", "partitions", "stages", "precedence", "phase",
                         "pin", "sharding", "repeat", "batch", "tile");
}
constexpr auto words(Bottleneck) {
  return named<Bottleneck>("compute", "memory", "network", "registers", "L1", "L2");
}
constexpr auto words(StepBound) {
  return named<StepBound>("compute", "memory", "network", "bubble", "transfer");
}

}  // namespace dfsearch
