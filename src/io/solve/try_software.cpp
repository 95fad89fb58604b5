// The bytes of a textbook prove nothing of software that holds less: a weight has 18 of them, and
// in some software 8.  So the config is read once with each stack of the shelf in place of its
// section `execution`, and a plan is sought that fits the same machine at the low ends of the
// memory of the stack, with all options that hold less.  Only if there is none with any stack
// nothing runs.

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/shelf.hpp"
#include "io/solve/question_parts.hpp"
#include "model/training/memory.hpp"

namespace dfsearch {
namespace {

using memory::Level;
using memory::Verdict;
using training::FittingPlan;
using training::FittingSoftware;
using training::Task;

/// The section `execution` of a stack.  Its chip is any measured one: no memory depends on its
/// rates, and no time is computed.
YamlEntry execution_with(const std::string& stack, const Place& place, InputMessages& messages) {
  YamlNode execution;
  execution.type = YamlNode::Type::Map;
  execution.place = place;
  execution.entries = {
      {"stack", place, named_tree(stack, {}, ShelfKind::Stacks, place, messages)},
      {"chip", place, named_tree("h100_80gb", {}, ShelfKind::Curves, place, messages)}};
  return {"execution", place, std::move(execution)};
}

/// Nothing where the stack cannot run the task, as the config has a key that software decides.
std::optional<Task> task_with(const TrainingConfig& config, const std::string& stack) {
  ConfigSource source = *config.source;
  InputMessages messages;
  YamlNode& tree = source.tree;
  std::erase_if(tree.entries, [](const YamlEntry& entry) { return entry.key == "execution"; });
  tree.entries.push_back(execution_with(stack, tree.place, messages));
  // No memory depends on the pairs that a mask leaves out.
  std::erase_if(tree.find("workload")->value.entries,
                [](const YamlEntry& entry) { return entry.key == "mask"; });
  try {
    messages.throw_if_any();
    Task task = std::get<TrainingConfig>(changed_config(source, {})).task;
    task.machine = config.task.machine;
    return task;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<FittingPlan> fitting_at(Level level, Task task, const Deadline& deadline) {
  task.decide = level;
  return training::fitting_plan(task, deadline);
}

/// The best level at which the stack holds some plan.  Throws Stopped.
std::optional<FittingSoftware> fitting(const std::string& stack, const Task& task,
                                       const Deadline& deadline) {
  std::optional<FittingPlan> found = fitting_at(Level::Low, task, deadline);
  if (!found) {
    const bool fused_optimizer = training::lean_options(task).fused_optimizer;
    const Task lean =
        training::with({.head_by_chunks = true, .fused_optimizer = fused_optimizer}, task);
    found = fitting_at(Level::Low, lean, deadline);
    if (!found) return std::nullopt;
    return FittingSoftware{.stack = stack, .verdict = Verdict::MayNotFit, .needed = found->needed};
  }
  FittingSoftware software{.stack = stack, .verdict = Verdict::MayNotFit, .needed = found->needed};
  if (const auto typical = fitting_at(Level::Typical, task, deadline)) {
    software.needed = typical->needed;
    const bool at_high = fitting_at(Level::High, task, deadline).has_value();
    software.verdict = at_high ? Verdict::Fits : Verdict::NotAtHigh;
  }
  return software;
}

}  // namespace

void try_software(const TrainingConfig& config, const Deadline& deadline,
                  training::PlanResult& result) {
  if (config.task.stack || !result.misfit || config.source == nullptr ||
      config.task.style != Style::KernelByKernel) {
    return;
  }
  std::vector<FittingSoftware> all;
  bool may_prove = false;
  try {
    for (const ShelfFile& file : shelf(ShelfKind::Stacks)) {
      const std::string stack(file.name);
      const std::optional<Task> task = task_with(config, stack);
      if (!task) continue;
      may_prove = true;
      if (auto found = fitting(stack, *task, deadline)) all.push_back(std::move(*found));
    }
  } catch (const Stopped&) {
    may_prove = false;
  }
  if (all.empty() && !may_prove) return;
  std::sort(all.begin(), all.end(), [](const FittingSoftware& a, const FittingSoftware& b) {
    return std::tie(a.verdict, a.needed, a.stack) < std::tie(b.verdict, b.needed, b.stack);
  });
  if (!all.empty()) result.status = SearchStatus::NoSolution;
  result.software = std::move(all);
}

}  // namespace dfsearch
