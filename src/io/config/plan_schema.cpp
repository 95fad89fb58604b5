// Rows of the sections of configs with `training`.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "io/config/config_readers.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/stack_files.hpp"
#include "model/problem_schema.hpp"
#include "model/training/decisions.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::Role;
using training::StateBytes;
using training::Task;
using training::TensorLayout;

constexpr Type kElement = [] {
  Type type = TypeOf<double>::type;
  type.form = Form::Quantity;
  type.unit = &units::kSize;
  return type;
}();

using OptionalLoss = std::optional<memory::Loss>;
constexpr Type kKindOfLoss{.form = Form::Choice,
                           .put =
                               [](void* member, std::int64_t value) {
                                 static_cast<OptionalLoss*>(member)->emplace().kind =
                                     static_cast<memory::LossKind>(value);
                               },
                           .get =
                               [](const void* member) {
                                 const auto& loss = *static_cast<const OptionalLoss*>(member);
                                 return loss ? static_cast<std::int64_t>(loss->kind) : -1;
                               },
                           .choices = &choices_of<memory::LossKind>};
constexpr Type kLossOrKind = either(kKindOfLoss, TypeOf<OptionalLoss>::type);

constexpr Type kOverlapOfKernels = kOneOf<Overlap, [](Overlap overlap) {
  return overlap == Overlap::None || overlap == Overlap::Perfect;
}>;

/// Checks that the given values leave the framework a plan that it can run.
void check_framework(const Task& task, Report& report) {
  for (const training::Decision& decision : training::decisions()) {
    const training::Values values = decision.allowed(task.choices);
    std::vector<std::string_view> lack;
    const bool runs_some = std::any_of(values.begin(), values.end(), [&](std::int64_t value) {
      // Some kinds of offloading are possible only with some levels of ZeRO.
      for (int zero = 0; zero <= 3; ++zero) {
        training::Plan tried{.zero = zero};
        decision.set(tried, value);
        lack = unsupported_features(*task.framework, {}, tried);
        if (lack.empty()) return true;
      }
      return false;
    });
    if (values.empty() || runs_some) continue;
    report.at({decision.given.in(const_cast<Task*>(&task))},
              fmt::format("{} supports none of these values: {}", name_of(*task.framework),
                          lack.front()));
  }
}

/// Refuses keys for which a stack has its own constants, or lacks constants.
void check_beside_stack(const Task& task, Report& report) {
  if (report.given(&task.data_overlap)) {
    report.at_key(&task.data_overlap,
                  "not allowed with 'execution.stack', which has a 'data_overlap' of its own; "
                  "expected --set execution.stack.data_overlap=none to hide no exchange");
  }
  // All software can recompute whole layers; `unknown` is only about memory.
  for (const training::Recompute each : task.choices.recomputes) {
    using training::Recompute;
    const bool is_of_all = each == Recompute::Full || each == Recompute::Unknown;
    if (is_of_all || task.stack->stack.computes_again(each)) continue;
    report.at({&task.choices.recomputes},
              fmt::format(
                  "expected a value that the stack supports ('execution.stack.recompute'), got {}",
                  name_of(each)));
  }
  const memory::Loss loss = task.loss(1);
  if (task.changes.loss && loss.kind != memory::LossKind::FusedLinear &&
      task.stack->stack.logits[loss.kind].empty()) {
    report.at({&task.changes.loss},
              fmt::format(
                  "expected a kind that the stack has measured ('execution.stack.logits'), got {}",
                  name_of(loss.kind)));
  }
}

/// A list of modules is one choice: recompute all of them.
void settle_recompute(std::vector<training::Recompute>& recomputes) {
  if (!std::all_of(recomputes.begin(), recomputes.end(), memory::is_listed)) return;
  for (std::size_t i = 1; i < recomputes.size(); ++i) recomputes[0] = recomputes[0] | recomputes[i];
  if (recomputes.size() > 1) recomputes.resize(1);
}

/// Reads the state keys of plans without a stack.
void settle_states(Task& task, const Report& report) {
  training::StackChanges& changes = task.changes;
  if (report.given(&task.bytes.gradient) && !changes.gradient) {
    changes.gradient = task.bytes.gradient;
  }
  if (report.given(&task.bytes.optimizer) && !changes.master && !changes.moments) {
    changes.master = 0.0;
    changes.moments = task.bytes.optimizer;
  }
}

/// Refuses keys that need a stack.
void check_without_stack(const Task& task, Report& report) {
  const auto refuse = [&](const void* member) {
    if (report.given(member))
      report.at_key(member, "only valid with 'execution.stack'; set that or remove this key");
  };
  for (const void* member :
       {static_cast<const void*>(&task.changes), static_cast<const void*>(&task.changes.gradients),
        static_cast<const void*>(&task.changes.loss), static_cast<const void*>(&task.decide)}) {
    refuse(member);
  }
  const auto is_of_stack = [](training::Recompute recompute) {
    return recompute > training::Recompute::Full ||
           (memory::is_listed(recompute) && recompute != training::Recompute::Selective);
  };
  const auto& recomputes = task.choices.recomputes;
  if (std::any_of(recomputes.begin(), recomputes.end(), is_of_stack)) {
    report.at({&recomputes},
              "expected none, selective or full; other values need 'execution.stack'");
  }
}

void check_plan(void* object, Report& report) {
  auto& settled = *static_cast<Task*>(object);
  settle_recompute(settled.choices.recomputes);
  if (settled.stack) settle_states(settled, report);
  const Task& task = settled;
  const training::Choices& choices = task.choices;
  if (!task.stack) check_without_stack(task, report);
  if (task.framework) check_framework(task, report);
  const auto whole =
      std::find(choices.layouts.begin(), choices.layouts.end(), TensorLayout::WholeExperts);
  if (whole != choices.layouts.end() && !task.stack) {
    report.at({&choices.layouts}, "whole_experts needs an 'execution.stack'");
  }
  const auto& schedules = choices.schedules;
  if (task.stack && std::find(schedules.begin(), schedules.end(), training::Schedule::ZeroBubble) !=
                        schedules.end()) {
    report.at({&choices.schedules},
              "zb_h1 cannot be timed with 'execution.stack'; expected another schedule");
  }
  const auto& recomputes = choices.recomputes;
  if (task.style == Style::Dataflow &&
      std::find(recomputes.begin(), recomputes.end(), training::Recompute::Selective) !=
          recomputes.end()) {
    report.at({&choices.recomputes},
              "selective is not allowed with 'style: dataflow', which fuses the scores; expected "
              "none or full");
  }
  if (task.objective != training::Objective::StepTime) {
    if (!task.machine.energy.stated()) {
      report.at({&task.objective},
                "needs the energies of a chip, expected 'system.energy' or a section 'energy'");
    } else if (task.style == Style::Dataflow) {
      report.at({&task.objective},
                "expected step_time with 'style: dataflow', whose partitions are searched for the "
                "least time");
    }
  }
  if (task.stack) check_beside_stack(task, report);
  if (task.stack && choices.offload && choices.offload->any()) {
    report.at({&choices.offload},
              "not allowed with 'execution.stack', which cannot time copies to the second memory; "
              "remove this key");
  }
  const std::int64_t sum =
      std::accumulate(choices.layers.begin(), choices.layers.end(), std::int64_t{0});
  if (report.given(&choices.layers) && sum != task.model.layers) {
    report.at({&choices.layers},
              fmt::format("expected {} layers in all, got {}", task.model.layers, sum));
  }
  if (choices.offload && choices.offload->any() && !task.machine.second_memory()) {
    report.at({&choices.offload},
              "needs a second memory; set 'system.memory.second' or remove this key");
  }
}

void check_vector(void* object, Report& report) {
  const auto& text = *static_cast<const VectorSection*>(object);
  if (text.of_matrix && text.engine.peak) {
    report.at({&text.of_matrix},
              "not allowed with 'peak', which is the rate of the same engine; remove one of the "
              "two keys");
  }
}

void check_rates(void* object, Report& report) {
  const auto& text = *static_cast<const PlanExecutionSection*>(object);
  const auto& rates = text.efficiency;
  if (text.compute_utilization && rates && (rates->matrix || rates->vector)) {
    report.at({&text.compute_utilization},
              "not allowed with 'efficiency', which has the rates of the engines; remove one of "
              "the two keys");
  }
  const std::string wrong =
      text.stack ? "not allowed with 'stack', which has measured rates; remove this key"
                 : "only valid with 'stack'; set that or remove this key";
  std::vector<const void*> others{&text.chip, &text.precision};
  if (text.stack) others = {&text.efficiency, &text.compute_utilization, &text.overlap};
  if (text.stack && text.style == Style::Dataflow) {
    report.at({&text.style},
              "expected kernel_by_kernel with 'stack', which runs kernels one by one");
  }
  if (text.partitions && text.style != Style::Dataflow) {
    report.at({&text.partitions}, "only valid with 'style: dataflow'; set that or remove this key");
  }
  for (const void* other : others) {
    if (report.given(other)) report.at_key(other, wrong);
  }
  if (!text.stack || !text.chip) return;
  const auto precision = text.precision.value_or(stack::Precision::Bf16);
  const std::string missing = missing_precision(*text.chip, precision);
  if (missing.empty()) return;
  report.at({text.precision ? static_cast<const void*>(&text.precision) : &text.chip}, missing);
}

}  // namespace

const Schema& schema_of(Rows<Task>) {
  using S = StateBytes;
  static constexpr Extra kBytes{.type = &kElement, .limits = {0.125, 1024}};
  static constexpr Field kOthers[] = {
      field<&Task::framework>("framework",
                              "search only plans that this framework can run, and report the loss "
                              "([training.md](training.md), section 6)",
                              {.type = &kOneOrNone<Framework, trains>, .preset = "any"}),
      field<&Task::objective>("objective",
                              "what is minimised: the step time; `energy`, the energy of a step; "
                              "or `edp`, the product of both ([energy.md](energy.md))"),
      field<&Task::changes>(
          "states", "bytes of each state of a trained weight; each key replaces that of the stack",
          {.preset = "those of the stack"}),
      field<&Task::changes, &training::StackChanges::gradients>(
          "gradients",
          "`kept`: memory of gradients stays allocated from step to step; `made`: it is allocated "
          "in each step; needs `stack`",
          {.preset = "those of the stack"}),
      field<&Task::changes, &training::StackChanges::loss>(
          "loss", "kernels of the loss: their kind, or a map; needs `stack`",
          {.type = &kLossOrKind, .preset = "that of the stack"}),
      field<&Task::decide>("decide",
                           "the level of the constants of memory at which plans have to fit; needs "
                           "`stack`"),
      field<&Task::data_overlap>(
          "data_overlap",
          "whether gradients are reduced and weights gathered while other layers compute",
          {.type = &kYesOrNoType}),
      field<&Task::bytes, &S::gradient>(
          "gradient", "size of an element of gradients that add up over micro-batches", kBytes),
      field<&Task::bytes, &S::sent>(
          "sent_gradient", "size of an element of gradients that replicas exchange", kBytes),
      field<&Task::bytes, &S::optimizer>(
          "optimizer", "size of the optimizer's states of an element: master weight and moments",
          kBytes)};
  static const auto kFields = [] {
    std::vector<Field> fields(std::begin(kOthers), std::end(kOthers));
    // The choices come after the framework and the objective.
    const std::vector<Field> choices = training::choice_rows();
    fields.insert(fields.begin() + 2, choices.begin(), choices.end());
    return fields;
  }();
  static const Schema kSchema = schema<Task>("training", kFields, &check_plan);
  return kSchema;
}

const Schema& schema_of(Rows<training::StackChanges>) {
  using S = training::StackChanges;
  static constexpr Extra kBytes{.limits = {0, 64}, .preset = "that of the stack"};
  static constexpr Field kFields[] = {
      field<&S::weight>("weight", "the weight that layers use", kBytes),
      field<&S::gradient>("gradient", "the gradient with all its copies", kBytes),
      field<&S::master>("master", "the optimizer's copy of the weight", kBytes),
      field<&S::moments>("moments", "the moments of the optimizer", kBytes),
      field<&S::step>("step", "additional bytes during the optimizer's step", kBytes)};
  return schema<S, kFields>("states of a plan");
}

const Schema& schema_of(Rows<training::Choices>) {
  static constexpr Extra kAnyDegree{.preset = "any"};
  static constexpr Field kFields[] = {
      element<0, &training::Choices::degrees>("tensor", "ranks that divide features", kAnyDegree),
      element<1, &training::Choices::degrees>("context", "ranks that divide the tokens of a sample",
                                              kAnyDegree),
      element<2, &training::Choices::degrees>(
          "expert",
          "ranks that divide experts and samples, with `whole_experts` the tensor ranks included",
          kAnyDegree),
      element<3, &training::Choices::degrees>(
          "data", "all replicas, including those that divide the experts", kAnyDegree),
      element<4, &training::Choices::degrees>("pipeline", "stages of layers", kAnyDegree)};
  return schema<training::Choices, kFields>("parallelism of a plan");
}

const Field kRoleOfDimension{.key = "strategy", .type = &TypeOf<std::optional<Role>>::type};

const Schema& schema_of(Rows<EngineSection>) {
  static constexpr Field kFields[] = {
      field<&EngineSection::peak>("peak", "a peak in place of that of the machine",
                                  {.limits = {1, 1e24}, .preset = "that of the machine"}),
      field<&EngineSection::efficiency>("", "", {.type = &kCurve<Flops>})};
  return schema<EngineSection, kFields>("rates of an engine");
}

const Schema& schema_of(Rows<VectorSection>) {
  static constexpr Field kFields[] = {
      field<&VectorSection::of_matrix>("of_matrix", "its peak, as a share of the peak of `matrix`",
                                       {.limits = {1e-9, 1e3}, .preset = "0.5"}),
      keys_of<&VectorSection::engine>()};
  return schema<VectorSection, kFields>("rates of the vector engine", &check_vector);
}

const Schema& schema_of(Rows<RatesSection>) {
  static constexpr Type kMemory = kOptional<EfficiencyCurve<Bytes>, &kCurve<Bytes>>;
  static constexpr Extra kOfMemory{.type = &kMemory, .preset = "the bandwidth"};
  static constexpr Field kFields[] = {
      field<&RatesSection::matrix>("matrix",
                                   "for products: share of the peak by the FLOP of a kernel, and a "
                                   "peak to replace that of the machine",
                                   {.preset = "the peak of the accelerator"}),
      field<&RatesSection::vector>("vector",
                                   "the same for all other kernels; the peak is given, or is "
                                   "`of_matrix` times that of `matrix`",
                                   {.preset = "half the peak of `matrix`"}),
      field<&RatesSection::memory>("memory", "share of the bandwidth by the bytes of a kernel",
                                   kOfMemory),
      field<&RatesSection::second>("second", "the same for the second memory", kOfMemory)};
  return schema<RatesSection, kFields>("rates of a chip");
}

const Schema& schema_of(Rows<PlanExecutionSection>) {
  using E = PlanExecutionSection;
  static constexpr Field kFields[] = {
      field<&E::style>("style",
                       "`kernel_by_kernel`: kernels of a layer run one after the other; "
                       "`dataflow`: they are fused on the chip where that is faster"),
      field<&E::partitions>(
          "partitions",
          "the most partitions of each pass of each part of the model, with `style: dataflow`",
          {.limits = {1, kLargestCount}, .preset = "one for each kernel"}),
      field<&E::overlap>(
          "overlap",
          "time of a kernel, or of a partition. `none`: the sum of its compute and memory time; "
          "`perfect`: the larger of both",
          {.type = &kOverlapOfKernels, .preset = "`none`, with `style: dataflow` `perfect`"}),
      field<&E::compute_utilization>("compute_utilization",
                                     "share of the peak that all kernels reach",
                                     {.limits = {1e-9, 1}, .preset = "1"}),
      field<&E::efficiency>(
          "efficiency",
          "rates by the work of a kernel, in place of `compute_utilization`: a map, a file, or "
          "`{from: FILE, ...}` with other keys on top",
          {.preset = "the peaks", .flags = kFromFile | kFileName}),
      field<&E::stack>("stack",
                       "the software that runs the plan, a file of `configs/stacks/`; its "
                       "constants and those of "
                       "`chip` replace all other rates ([truth.md](truth.md))",
                       {.preset = "none", .flags = kFromFile | kFileName}),
      field<&E::chip>("chip", "the measured chip, a file of `configs/curves/`; needs `stack`",
                      {.preset = "none", .with = "stack", .flags = kFromFile | kFileName}),
      field<&E::precision>("precision", "format of linear layers; needs `stack`",
                           {.preset = "bf16"})};
  return schema<E, kFields>("execution of a plan", &check_rates);
}

}  // namespace dfsearch
