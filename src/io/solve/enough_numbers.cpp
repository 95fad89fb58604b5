// Changes one number at a time: the config is read again with another value, as if by `--set`, and
// tested for a plan that fits.  No times are computed, so a test takes milliseconds.
//
// Memory: the least need of any plan suffices, and not a byte less; with two memories, bisection
// finds the number of bytes.  Chips: candidates are the counts that the open dimension of the
// network allows.  A count is doubled until some plan fits; then counts are tried one after the
// other, from the least that could hold the states of the model once.  Bisection is not possible:
// if a count suffices, a larger one may not, since degrees divide the chips.  Sequence and batch:
// the given value is halved repeatedly, if the states alone fit.

#include "io/solve/question_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/shelf.hpp"
#include "io/result/plan_lack.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::FittingPlan;
using training::NearestMisfit;
using training::NumberChange;
using training::Task;
using Kind = NumberChange::Kind;

constexpr Seconds kMostTime{1.0};
constexpr std::int64_t kMostTasks = 300;  // instead of a time limit, for deterministic answers
constexpr std::int64_t kMostTriedChips = 131'072;
constexpr std::int64_t kShortestSequence = 64;

class SufficientValueSearch {
 public:
  SufficientValueSearch(const TrainingConfig& config, const Deadline& deadline, bool deterministic,
                        NearestMisfit& nearest)
      : config_(config),
        deadline_(deterministic ? deadline : deadline.within(kMostTime)),
        tasks_left_(deterministic ? kMostTasks : std::numeric_limits<std::int64_t>::max()),
        nearest_(nearest) {}

  /// Throws Stopped.
  void find() {
    find_memory();
    find_chips();  // finds a sufficient count
    find_halves(Kind::Sequence, "workload.sequence", config_.task.pass.tokens, kShortestSequence);
    find_halves(Kind::Batch, "workload.global_batch", config_.task.global_batch, 1);
    find_fewest_chips();
    nearest_.changes_complete = true;
  }

 private:
  /// Sets `change` to a plan that fits with another value, or with that value and one given degree
  /// left open.  Returns whether the config is valid with that value.
  bool try_value(const std::string& key, std::int64_t value, NumberChange& change) {
    using training::Role;
    const std::string changed = fmt::format("{}={}", key, value);
    bool makes_sense = false;
    const auto fits_with = [&](const std::vector<std::string>& changes) {
      const std::optional<Task> task = task_with(changes);
      makes_sense = makes_sense || task;
      if (task) change.with = training::fitting_plan(*task, deadline_);
      return change.with.has_value();
    };
    if (fits_with({changed})) return true;
    for (const Role role : {Role::Data, Role::Context, Role::Tensor, Role::Pipeline}) {
      const auto& given = config_.task.choices.degrees[static_cast<std::size_t>(role)];
      if (given.values.empty()) continue;
      if (!fits_with({changed, fmt::format("parallelism.{}=1..", training::name_of(role))}))
        continue;
      change.also = role;
      return true;
    }
    return makes_sense;
  }

  /// The task of the changed config; nothing if that is not valid.
  [[nodiscard]] std::optional<Task> task_with(const std::vector<std::string>& changes) {
    deadline_.check();
    if (tasks_left_-- <= 0) throw Stopped();
    try {
      return std::get<TrainingConfig>(changed_config(*config_.source, changes)).task;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  void find_memory() {
    const PlanLack lack = lack_of(config_.task, nearest_.misfit);
    const bool is_first = std::string_view(lack.limit) == "memory";
    NumberChange change{.kind = is_first ? Kind::Memory : Kind::SecondMemory,
                        .given = lack.available.in_base_units(),
                        .with = std::nullopt,
                        .is_nearest = true};
    if (config_.task.machine.second_memory()) {
      auto least = training::least_of_memory(config_.task, !is_first, deadline_);
      if (!least) return;
      change.tried = least->capacity.in_base_units();
      change.with = std::move(least->with);
    } else {
      change.tried = lack.needed.in_base_units();
      change.with = FittingPlan{.plan = nearest_.plan, .needed = lack.needed};
    }
    nearest_.changes.push_back(std::move(change));
  }

  /// The chips of one member of the open dimension; nothing if no dimension is open.
  [[nodiscard]] std::optional<std::int64_t> open_unit() const {
    const YamlEntry* system = config_.source->tree.find("system");
    const YamlEntry* network = system != nullptr ? system->value.find("network") : nullptr;
    if (network == nullptr) return std::nullopt;
    const std::vector<YamlNode>& items = network->value.items;
    for (std::size_t d = 0; d < items.size() && d < config_.task.machine.network.size(); ++d) {
      const YamlEntry* mesh = items[d].find("width");
      if (items[d].find("degree") == nullptr && mesh == nullptr) {
        return config_.task.machine.chips / *config_.task.machine.network[d].degree;
      }
    }
    return std::nullopt;
  }

  /// A lower bound, for any plan, of the weights, gradients and states of the optimizer in all
  /// chips.
  [[nodiscard]] double least_states() const {
    const Task& task = config_.task;
    if (task.machine.second_memory()) return 0.0;
    constexpr double kRoundings = 1.0 - 1e-9;  // roundings of both sums
    if (task.stack) return least_with_stack() * kRoundings;
    const double all = task.pass.word.in_base_units() + task.bytes.optimizer + task.bytes.gradient;
    return parameter_count(task.model) * all * kRoundings;
  }

  /// A stack counts neither norms of heads and outputs nor biases of routers.
  [[nodiscard]] double least_with_stack() const {
    const Task& task = config_.task;
    Transformer counted = task.model;
    counted.qk_norm = counted.post_norm = false;
    counted.norm = Norm::Rms;
    if (counted.experts) counted.experts->router_bias = false;
    const memory::States states = task.states();
    const double trained = states.weight + states.gradient + states.master + states.moments;
    return parameter_count(counted) * (task.lora ? bytes_of(task.lora->frozen) : trained);
  }

  [[nodiscard]] double capacity() const {
    return config_.task.machine.memory[0].capacity.in_base_units();
  }

  void find_chips() {
    unit_ = open_unit();
    if (!unit_) return;
    least_chips_ = static_cast<std::int64_t>(
        std::ceil(least_states() / capacity() / static_cast<double>(*unit_)) *
        static_cast<double>(*unit_));
    const std::int64_t given = config_.task.machine.chips;
    NumberChange change{
        .kind = Kind::Chips, .given = static_cast<double>(given), .with = std::nullopt};
    std::int64_t enough = given;
    bool makes_sense = false;
    while (!change.with && enough <= kMostTriedChips / 2) {
      enough *= 2;
      if (enough < least_chips_) continue;
      makes_sense = try_value("system.chips", enough, change) || makes_sense;
    }
    if (!makes_sense) return;
    change.tried = static_cast<double>(enough);
    nearest_.changes.push_back(std::move(change));
  }

  /// Searches between the given number and a sufficient one; this takes longest.
  void find_fewest_chips() {
    const auto change =
        std::find_if(nearest_.changes.begin(), nearest_.changes.end(),
                     [](const NumberChange& c) { return c.kind == Kind::Chips && c.with; });
    if (change == nearest_.changes.end()) return;
    const auto enough = static_cast<std::int64_t>(change->tried);
    std::int64_t count = std::max(config_.task.machine.chips + *unit_, least_chips_);
    for (; count < enough; count += *unit_) {
      NumberChange fewer = *change;
      fewer.with.reset();
      fewer.also.reset();
      try_value("system.chips", count, fewer);
      if (!fewer.with) continue;
      fewer.tried = static_cast<double>(count);
      *change = std::move(fewer);
      break;
    }
    change->is_nearest = true;
  }

  void find_halves(Kind kind, const std::string& key, std::int64_t given, std::int64_t least) {
    NumberChange change{.kind = kind, .given = static_cast<double>(given), .with = std::nullopt};
    std::int64_t value = given;
    // If the states alone are too large, a smaller workload does not help.
    const bool may_help =
        least_states() <= capacity() * static_cast<double>(config_.task.machine.chips);
    bool makes_sense = !may_help;
    while (!change.with && value % 2 == 0 && value / 2 >= least) {
      value /= 2;
      if (may_help) makes_sense = try_value(key, value, change) || makes_sense;
    }
    if (value == given || !makes_sense) return;
    change.tried = static_cast<double>(value);
    nearest_.changes.push_back(std::move(change));
  }

  const TrainingConfig& config_;
  const Deadline deadline_;
  std::int64_t tasks_left_;
  NearestMisfit& nearest_;
  std::optional<std::int64_t> unit_;  // counts of chips are multiples of it
  std::int64_t least_chips_ = 0;
};

}  // namespace

void find_enough_numbers(const TrainingConfig& config, const Deadline& deadline, bool deterministic,
                         NearestMisfit& nearest) {
  if (config.source == nullptr) return;
  nearest.changes_complete = false;
  try {
    SufficientValueSearch(config, deadline, deterministic, nearest).find();
  } catch (const Stopped&) {
    // Keeps the results found so far.
  }
}

// Textbooks have 18 bytes for each weight, some software 8: a proof by the bytes of textbooks does
// not hold for software that needs fewer.  So the config is read once with each stack of the shelf
// as its section `execution`, and a plan is sought that fits the same machine at the low ends of
// the stack's memory, with all options that save memory.  Only if no stack has such a plan, the
// task cannot run.

namespace {

using memory::Level;
using memory::Verdict;
using training::FittingPlan;
using training::FittingSoftware;
using training::Task;

/// The section `execution` with a stack.  Its chip is an arbitrary measured one, since memory does
/// not depend on rates and no time is computed.
YamlEntry execution_with(const std::string& stack, const Place& place, InputMessages& messages) {
  YamlNode execution;
  execution.type = YamlNode::Type::Map;
  execution.place = place;
  execution.entries = {
      {"stack", place, named_tree(stack, {}, ShelfKind::Stacks, place, messages)},
      {"chip", place, named_tree("h100_80gb", {}, ShelfKind::Curves, place, messages)}};
  return {"execution", place, std::move(execution)};
}

/// The task with a stack; nothing if the config has a key that software decides.
std::optional<Task> task_with(const TrainingConfig& config, const std::string& stack) {
  ConfigSource source = *config.source;
  InputMessages messages;
  YamlNode& tree = source.tree;
  std::erase_if(tree.entries, [](const YamlEntry& entry) { return entry.key == "execution"; });
  tree.entries.push_back(execution_with(stack, tree.place, messages));
  // Memory does not depend on masked pairs.
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
