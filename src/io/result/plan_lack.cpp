#include "io/result/plan_lack.hpp"

#include <fmt/format.h>

#include "base/words.hpp"

namespace dfsearch {
std::string no_plan_text(const training::Task& task, const training::NoPlan& why) {
  if (why.other_ranks) {
    return fmt::format(
        "{} numbers ranks in an order that puts no plan on this network; leave out "
        "the strategies of system.network, or training.framework",
        name_of(*task.framework));
  }
  if (!why.unsupported.empty()) {
    return fmt::format("{} runs no plan with all given values: {}", name_of(*task.framework),
                       fmt::join(why.unsupported, "; "));
  }
  std::string text = "no plan has all given values";
  text += why.pins.empty() ? ", even if any one of them is left out"
                           : fmt::format("; leave out {}", fmt::join(why.pins, ", or "));
  if (task.model.experts && !task.stack) {
    text +=
        ". Without a stack each tensor rank has expert ranks of its own; plans whose expert ranks "
        "include the tensor ranks (layout whole_experts) need execution.stack";
  }
  return text;
}

std::vector<std::string> assumed_keys(const training::LeanOptions& options) {
  std::vector<std::string> keys;
  if (options.head_by_chunks) keys.emplace_back("training.loss=fused_linear");
  if (options.fused_optimizer) keys.emplace_back("training.states.step=0");
  return keys;
}

}  // namespace dfsearch
