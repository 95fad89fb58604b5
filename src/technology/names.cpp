#include "technology/names.hpp"

#include "base/error.hpp"

namespace dfsearch {

// Switches without a default, so that the compiler names a forgotten value.
// clang-format off

const char* name_of(Component part) {
  switch (part) {
    case Component::Core: return "core";
    case Component::Registers: return "registers";
    case Component::L1: return "L1";
    case Component::L2: return "L2";
    case Component::Memory: return "memory";
    case Component::Intra: return "intra";
    case Component::Inter: return "inter";
  }
  throw InternalError("a part of a chip without a name");
}

const char* name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::Intra: return "intra";
    case LinkKind::Inter: return "inter";
  }
  throw InternalError("a link without a name");
}

const char* name_of(LevelScope scope) {
  switch (scope) {
    case LevelScope::Core: return "core";
    case LevelScope::Bundle: return "bundle";
    case LevelScope::Chip: return "chip";
  }
  throw InternalError("a scope without a name");
}

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
