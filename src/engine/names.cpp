#include "engine/names.hpp"

#include "base/error.hpp"

namespace dfsearch {

// Switches without a default, so that the compiler names a forgotten value.
// clang-format off

const char* name_of(SearchStatus status) {
  switch (status) {
    case SearchStatus::Optimal: return "optimal";
    case SearchStatus::Feasible: return "feasible";
    case SearchStatus::Infeasible: return "infeasible";
    case SearchStatus::NoSolution: return "no_solution";
  }
  throw InternalError("a status without a name");
}

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::None: return "";
    case StopReason::Time: return "time";
    case StopReason::Nodes: return "nodes";
    case StopReason::Signal: return "signal";
  }
  throw InternalError("a reason to stop without a name");
}

const char* name_of(Raised what) {
  switch (what) {
    case Raised::Memory: return "memory";
    case Raised::Sram: return "sram";
    case Raised::Partitions: return "partitions";
    case Raised::Degree: return "degree";
  }
  throw InternalError("a quantity to raise without a name");
}
// clang-format on

}  // namespace dfsearch
