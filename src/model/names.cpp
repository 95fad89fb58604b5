#include "model/names.hpp"

#include "base/error.hpp"

namespace dfsearch {

// Switches without a default, so that the compiler names a forgotten value.
// clang-format off

const char* name_of(Resource resource) {
  switch (resource) {
    case Resource::Sram: return "sram";
    case Resource::Memory: return "memory";
    case Resource::Cores: return "cores";
    case Resource::Partitions: return "partitions";
    case Resource::Stages: return "stages";
    case Resource::Precedence: return "precedence";
    case Resource::Phase: return "phase";
    case Resource::Pin: return "pin";
    case Resource::Sharding: return "sharding";
    case Resource::Repeat: return "repeat";
    case Resource::Batch: return "batch";
    case Resource::Tile: return "tile";
  }
  throw InternalError("a resource without a name");
}

const char* name_of(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::Compute: return "compute";
    case Bottleneck::Memory: return "memory";
    case Bottleneck::Network: return "network";
    case Bottleneck::Registers: return "registers";
    case Bottleneck::L1: return "L1";
    case Bottleneck::L2: return "L2";
  }
  throw InternalError("a bound without a name");
}

const char* name_of(StepBound bound) {
  switch (bound) {
    case StepBound::Compute: return "compute";
    case StepBound::Memory: return "memory";
    case StepBound::Network: return "network";
    case StepBound::Bubble: return "bubble";
    case StepBound::Transfer: return "transfer";
  }
  throw InternalError("a share of the step without a name");
}
// clang-format on

const char* topology_name(const NetworkDimension& dimension) {
  if (!dimension.mesh) return name_of(dimension.topology);
  return dimension.mesh->closed ? "torus2d" : "mesh";
}

}  // namespace dfsearch
