// The constants of memory of a stack at one level.

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

}  // namespace dfsearch::stack
