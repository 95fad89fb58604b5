#pragma once
// The names that configs and results use for the enumerations of chips.

#include "base/words.hpp"
#include "technology/chip.hpp"

namespace dfsearch {

constexpr auto words(Component) {
  return named<Component>({{"core", Component::Core},
                           {"registers", Component::Registers},
                           {"L1", Component::L1},
                           {"L2", Component::L2},
                           {"memory", Component::Memory},
                           {"intra", Component::Intra},
                           {"inter", Component::Inter}});
}
constexpr auto words(LinkKind) {
  return named<LinkKind>({{"intra", LinkKind::Intra}, {"inter", LinkKind::Inter}});
}
constexpr auto words(LevelScope) {
  return named<LevelScope>(
      {{"core", LevelScope::Core}, {"bundle", LevelScope::Bundle}, {"chip", LevelScope::Chip}});
}

const char* name_of(SpeedLimit limit);
const char* name_of(CountLimit limit);
const char* name_of(BudgetClass budget);

}  // namespace dfsearch
