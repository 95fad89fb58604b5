#include "model/training/decisions.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

#include "model/machine/machine_schema.hpp"
#include "model/training/memory.hpp"
#include "model/training/schedule.hpp"

namespace dfsearch {

/// Names of the layouts: least_sent, least_kept, whole_experts, then the places in the front.
template <>
std::vector<Choice> choices_of<training::TensorLayout>() {
  static const auto kNames = [] {
    std::array<std::string, training::kMostFrontLayouts + 3> names;
    for (std::size_t i = 0; i < names.size(); ++i) {
      names[i] = training::name_of(static_cast<training::TensorLayout>(i));
    }
    return names;
  }();
  std::vector<Choice> choices;
  for (const std::string& name : kNames) {
    choices.push_back({name, static_cast<std::int64_t>(choices.size())});
  }
  return choices;
}

namespace training {
namespace {

constexpr Extra kOpen{.preset = "searched"};

template <class List>
Values numbers_of(const List& list) {
  Values values;
  for (const auto& value : list) values.push_back(static_cast<std::int64_t>(value));
  return values;
}

/// A row with the fields and functions that follow from the two members.
template <auto member, auto list>
constexpr Decision row(std::string_view key, std::string_view doc, const Extra& extra) {
  using Value = std::remove_reference_t<decltype(std::declval<Plan&>().*member)>;
  return {.given = field<&Task::choices, list>(key, doc, extra),
          .taken = field<member>(key, doc),
          .get = [](const Plan& plan) { return static_cast<std::int64_t>(plan.*member); },
          .set = [](Plan& plan, std::int64_t value) { plan.*member = static_cast<Value>(value); },
          .allowed = [](const Choices& choices) { return numbers_of(choices.*list); },
          .text = [](std::int64_t value) -> std::string {
            if constexpr (std::is_enum_v<Value>) {
              return name_of(static_cast<Value>(value));
            } else {
              return std::to_string(value);
            }
          },
          .open = [](Choices& choices) { return open_lists(choices.*list); },
          .pin = key};
}

constexpr Decision layout_row() {
  Decision decision = row<&Plan::layout, &Choices::layouts>(
      "layout",
      "layout of values among tensor ranks: the one that sends least, the one that keeps least, or "
      "a member of the front of both ([training.md](training.md), section 2); degrees whose front "
      "has fewer members have no plan",
      kOpen);
  decision.matters = [](const Task&, const Degrees& degrees) { return degrees[Role::Tensor] > 1; };
  decision.remedy = "layout";
  return decision;
}

constexpr Decision recompute_row() {
  Decision decision = row<&Plan::recompute, &Choices::recomputes>(
      "recompute",
      "what the backward pass computes again. `none`: nothing; `selective`: the scores of "
      "`attention: unfused`; `full`: all of a layer; with a stack also `op_sac`: every second "
      "product, or modules. A list of modules is one choice ([truth.md](truth.md), section 5)",
      kOpen);
  decision.values = [](const Decided& of) { return numbers_of(recomputes_of(of.task)); };
  decision.label = decision.remedy = "recompute";
  decision.words = [](const Plan& plan) { return memory::names_of(plan.recompute); };
  return decision;
}

constexpr Decision zero_row() {
  Decision decision = row<&Plan::zero, &Choices::zeros>(
      "zero",
      "what the replicas divide among themselves: 0 nothing, 1 the states of the optimizer, 2 also "
      "gradients, 3 also weights",
      {.limits = {0, 3}, .preset = "searched"});
  // If a single chip has the weights, there is nothing to divide: all stages of ZeRO are then the
  // same.
  decision.matters = [](const Task& task, const Degrees& degrees) {
    return sharing_chips(task, degrees, false) > 1.0;
  };
  decision.values = [](const Decided& of) {
    if (!(sharing_chips(of.task, of.plan.degrees, false) > 1.0)) return Values{0};
    return within({0, 1, 2, 3}, numbers_of(of.task.choices.zeros));
  };
  decision.label = decision.remedy = "ZeRO";
  return decision;
}

/// GPipe keeps more than 1F1B and takes as long: it is used only where the config requires it.
Values schedules_of(const Decided& of) {
  if (const auto& given = of.task.choices.schedules; !given.empty()) {
    return within(numbers_of(kSchedules), numbers_of(given));
  }
  std::vector<Schedule> schedules{Schedule::OneForwardOneBackward};
  if (of.plan.degrees[Role::Pipeline] > 1) {
    schedules.push_back(Schedule::Interleaved);
    if (!of.task.stack) schedules.push_back(Schedule::ZeroBubble);
  }
  return numbers_of(schedules);
}

constexpr Decision schedule_row() {
  Decision decision = row<&Plan::schedule, &Choices::schedules>(
      "schedule", "the order in which a stage works on its micro-batches",
      {.preset = "searched without `gpipe`"});
  decision.values = schedules_of;
  decision.open = [](Choices& choices) { return open_lists(choices.schedules, choices.chunks); };
  decision.pin = "schedule and .chunks";
  decision.remedy = "schedule";
  return decision;
}

/// Numbers of chunks: each chunk has a layer or an end of the model as a slot (stages.hpp).
Values chunks_of(const Decided& of) {
  const Task& task = of.task;
  const Plan& plan = of.plan;
  const std::int64_t layers = of.layers;
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const std::int64_t micro_batches =
      task.global_batch / (plan.degrees.replicas() * plan.micro_batch);
  Values counts(static_cast<std::size_t>(std::max<std::int64_t>((layers + 2) / stages, 1)));
  std::iota(counts.begin(), counts.end(), 1);
  counts = within(std::move(counts), task.choices.chunks);
  std::erase_if(counts, [&](std::int64_t chunks) {
    return task.choices.layers.empty()
               ? !is_possible(plan.schedule, chunks, micro_batches, stages, layers)
               : !is_possible(plan.schedule, chunks, micro_batches, task.choices.layers);
  });
  return counts;
}

constexpr Decision chunks_row() {
  Decision decision = row<&Plan::chunks, &Choices::chunks>(
      "chunks", "chunks of an interleaved stage, at least 2; 1 for other schedules", kOpen);
  decision.values = chunks_of;
  decision.open = nullptr;
  return decision;
}

/// The number of an offload, which orders ties: weights count most.
std::int64_t number_of(const Offload& offload) {
  return 4 * offload.weights + 2 * offload.activations + 1 * offload.optimizer;
}
Offload offload_at(std::int64_t number) {
  return {.weights = (number & 4) != 0,
          .activations = (number & 2) != 0,
          .optimizer = (number & 1) != 0};
}

constexpr Decision offload_row() {
  constexpr std::string_view kDoc =
      "what is kept in the second memory, which needs `memory.second`";
  return {.given = field<&Task::choices, &Choices::offload>("offload", kDoc, kOpen),
          .taken = field<&Plan::offload>("offload", kDoc),
          .get = [](const Plan& plan) { return number_of(plan.offload); },
          .set = [](Plan& plan, std::int64_t value) { plan.offload = offload_at(value); },
          .allowed =
              [](const Choices& choices) {
                return choices.offload ? Values{number_of(*choices.offload)} : Values();
              },
          .text = [](std::int64_t value) { return offload_text(offload_at(value)); },
          .open = [](Choices& choices) { return std::exchange(choices.offload, {}).has_value(); },
          .pin = "offload",
          .values =
              [](const Decided& of) {
                if (of.task.choices.offload) return Values{number_of(*of.task.choices.offload)};
                if (!of.task.machine.second_memory() || of.task.stack) return Values{0};
                return Values{0, 1, 2, 3, 4, 5, 6, 7};
              },
          .label = "offloaded",
          .remedy = "offloading",
          .is_reported = [](const Task& task) { return task.machine.second_memory() != nullptr; }};
}

constexpr Decision kDecisions[] = {layout_row(),   recompute_row(), zero_row(),
                                   schedule_row(), chunks_row(),    offload_row()};

constexpr Type kLayersOfStages = list_type<std::int64_t, Form::List>({}, kLargestCount);

/// Keys that are no decisions.
constexpr Field kOtherChoices[] = {field<&Task::choices, &Choices::layers>(
    "layers", "numbers of layers of the stages, from the first on",
    {.type = &kLayersOfStages,
     .limits = {0, static_cast<double>(kLargestCount)},
     .preset = "searched"})};

}  // namespace

std::vector<Field> choice_rows() {
  std::vector<Field> rows;
  for (const Decision& decision : kDecisions) rows.push_back(decision.given);
  rows.insert(rows.end(), std::begin(kOtherChoices), std::end(kOtherChoices));
  return rows;
}

std::span<const Decision> decisions() { return kDecisions; }

const Decision* decision_of(std::string_view key) {
  const auto* found =
      std::find_if(std::begin(kDecisions), std::end(kDecisions),
                   [&](const Decision& decision) { return decision.given.key == key; });
  return found == std::end(kDecisions) ? nullptr : found;
}

std::vector<Recompute> recomputes_of(const Task& task) {
  const std::vector<Recompute>& given = task.choices.recomputes;
  if (!task.stack) {
    std::vector<Recompute> all{Recompute::None, Recompute::Full};
    if (!task.pass.fused && task.style == Style::KernelByKernel) {
      all.insert(all.begin() + 1, Recompute::Selective);
    }
    return within(std::move(all), given);
  }
  if (!given.empty()) return given;
  const stack::Stack& stack = task.stack->stack;
  const Transformer& model = task.model;
  using memory::Module;
  // Some modules save no memory and take as long or longer: modules absent from the model,
  // attention that keeps no scores, and a part of a module if the whole module is chosen.
  const auto is_useless = [&](Recompute each) {
    const bool has_experts = has(each, Module::Experts), acts = has(each, Module::ExpertActivation);
    const bool is_absent =
        !model.mixed &&
        ((!model.experts && (has_experts || acts)) ||
         (!model.latent && has(each, Module::LatentUp)) ||
         (model.experts && model.experts->dense_layers == 0 && has(each, Module::Mlp)));
    return is_absent || (has_experts && acts) ||
           (has(each, Module::CoreAttention) && stack.attention != stack::Attention::Unfused);
  };
  std::vector<Recompute> all;
  for (unsigned each = 0; each <= static_cast<unsigned>(Recompute::EverySecondProduct); ++each) {
    const auto recompute = static_cast<Recompute>(each);
    if (stack.computes_again(recompute) && !is_useless(recompute)) all.push_back(recompute);
  }
  return all;
}

}  // namespace training
}  // namespace dfsearch
