#include "io/result/plan_lack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.hpp"

namespace dfsearch {
namespace {

constexpr auto key_words(training::NoPlan::Pin) {
  using Pin = training::NoPlan::Pin;
  return named<Pin>({{"parallelism", Pin::Degrees},
                     {"the strategies of system.network", Pin::Network},
                     {"training.schedule and .chunks", Pin::Schedule},
                     {"training.layout", Pin::Layout},
                     {"training.recompute", Pin::Recompute},
                     {"workload.micro_batch", Pin::MicroBatch},
                     {"training.layers", Pin::Layers}});
}

}  // namespace

std::string no_plan_text(const training::Task& task, const training::NoPlan& why) {
  if (why.other_ranks) {
    return fmt::format(
        "{} numbers ranks in an order that puts no plan on this network; leave out "
        "the strategies of system.network, or training.framework",
        name_of(*task.framework));
  }
  if (!why.lacks.empty()) {
    return fmt::format("{} runs no plan of all that is given: {}", name_of(*task.framework),
                       fmt::join(why.lacks, "; "));
  }
  std::string keys;
  for (const auto& word : key_words(training::NoPlan::Pin{})) {
    if (std::find(why.pins.begin(), why.pins.end(), word.value) == why.pins.end()) continue;
    keys += (keys.empty() ? "" : ", or ") + std::string(word.name);
  }
  std::string text = "no plan has all that is given";
  text += keys.empty() ? ", nor with any one of it left open" : "; leave out " + keys;
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
