// The constants of memory of a stack at one level.

#include <algorithm>
#include <vector>

#include "model/stack/stack.hpp"

namespace dfsearch::stack {

memory::StackFigures figures_of(const Stack& stack, memory::LossKind loss, bool gathers,
                                memory::Level level) {
  const StackMemory& memory = stack.memory;
  const bool is_other = gathers && !memory.gathered_fragment.empty();
  return {.resident = at_level(memory.resident, level).in_base_units(),
          .fragment = at_level(is_other ? memory.gathered_fragment : memory.fragment, level),
          .context = at_level(memory.context, level).in_base_units(),
          .group = at_level(memory.group, level).in_base_units(),
          .spread = at_level(memory.spread, level),
          .imbalance = at_level(memory.imbalance, level),
          .logit = at_level(stack.logits[loss], level)};
}

bool Stack::computes_again(memory::Recompute values) const {
  using memory::Recompute;
  std::vector<Recompute> all = recompute;
  if (all.empty()) all = {Recompute::None, Recompute::Selective, Recompute::Full};
  if (!memory::is_listed(values)) return std::find(all.begin(), all.end(), values) != all.end();
  unsigned modules = 0;
  for (const Recompute each : all) {
    if (memory::is_listed(each)) modules |= static_cast<unsigned>(each);
  }
  return (static_cast<unsigned>(values) & ~modules) == 0;
}

}  // namespace dfsearch::stack
