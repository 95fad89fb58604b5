#include "technology/chip.hpp"

#include "base/error.hpp"

namespace dfsearch {

// Switches without a default, so that the compiler names a forgotten value.
// clang-format off

const char* name_of(SpeedLimit limit) {
  switch (limit) {
    case SpeedLimit::Power: return "power";
    case SpeedLimit::MinimumVoltage: return "minimum voltage";
    case SpeedLimit::MaximumVoltage: return "maximum voltage";
    case SpeedLimit::Given: return "given";
  }
  throw InternalError("a limit of speed without a name");
}

const char* name_of(CountLimit limit) {
  switch (limit) {
    case CountLimit::DieArea: return "area";
    case CountLimit::Package: return "package";
    case CountLimit::Edge: return "edge";
    case CountLimit::Stack: return "stacks";
    case CountLimit::Given: return "given";
  }
  throw InternalError("a limit of a number without a name");
}

const char* name_of(BudgetClass budget) {
  switch (budget) {
    case BudgetClass::DieArea: return "area";
    case BudgetClass::Power: return "power";
    case BudgetClass::Edge: return "edge";
    case BudgetClass::Package: return "package";
  }
  throw InternalError("a budget without a name");
}
// clang-format on

}  // namespace dfsearch
