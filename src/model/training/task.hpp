#pragma once
// A training step that is to be planned: a model, a machine, and the decisions already taken.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units_text.hpp"
#include "base/words.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/levels.hpp"
#include "model/memory/trained.hpp"
#include "model/problem.hpp"
#include "model/stack/stack.hpp"
#include "model/training/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// Bytes that a replica keeps, or sends, for an element of a weight.
struct StateBytes {
  double gradient = 4.0;    ///< of the sum over micro-batches
  double sent = 2.0;        ///< of a gradient that replicas exchange
  double optimizer = 12.0;  ///< master weight and both moments
};

/// Facts of the software that a config overrides.
struct StackChanges {
  std::optional<double> weight, gradient, master, moments, step;  ///< bytes of an element
  std::optional<memory::Gradients> gradients;
  std::optional<memory::Loss> loss;
};

/// The quantity that a search for plans minimises.
enum class Objective : std::uint8_t {
  StepTime,  ///< seconds
  Energy,    ///< joules of a step
  Edp,       ///< product of energy and delay of a step: J s
};
struct ObjectiveRow {
  Objective value;
  const char* name;
  std::string (*text)(double score);  ///< with its unit
};
inline constexpr std::array kObjectiveRows = {
    ObjectiveRow{Objective::StepTime, "step_time", quantity_text<Seconds>},
    ObjectiveRow{Objective::Energy, "energy", quantity_text<Joules>},
    ObjectiveRow{Objective::Edp, "edp", quantity_text<JouleSeconds>}};
constexpr auto words(Objective) { return words_of(kObjectiveRows); }
constexpr const ObjectiveRow& row_of(Objective objective) {
  return row_with(kObjectiveRows, objective);
}

struct Task {
  Transformer model;
  TransformerPass pass;  ///< the pass of a sample; `dense` is not read
  std::int64_t global_batch = 1;
  /// The degrees of all dimensions are given; their strategies are not read.  A dimension may serve
  /// several roles: its degree is the product of their degrees, and a group of k of its chips
  /// communicates like a dimension of degree k.
  Machine machine;
  /// Whether kernels of a layer run one after the other or fused on the chip; exchanges are exposed
  /// in both cases (docs/training.md, section 5).
  Style style = Style::KernelByKernel;
  /// The most partitions of each pass of a part; default: one for each kernel.
  std::optional<std::int64_t> partitions;
  /// Whether compute and memory of a kernel, or of a partition, overlap.
  Overlap overlap = Overlap::None;
  /// Whether replicas add up gradients during the backward pass of the last micro-batch.
  bool data_overlap = true;
  StateBytes bytes;
  /// The software, with measured constants of kernels, exchanges and memory; without a stack, the
  /// rates of the machine apply (docs/truth.md).
  std::optional<stack::Setup> stack;
  /// Overrides of single keys of the stack.
  StackChanges changes;
  std::optional<memory::Lora> lora;
  /// The level of the memory constants at which a plan has to fit, with a stack.
  memory::Level decide = memory::Level::Typical;
  Choices choices;
  std::optional<Framework> framework;  ///< framework that has to support the plan; default: any
  Objective objective = Objective::StepTime;

  [[nodiscard]] ModelFacts facts() const {
    return {.heads = model.heads,
            .kv_heads = model.kv_heads,
            .tokens = pass.tokens,
            .global_batch = global_batch,
            .experts = model.experts.has_value(),
            .tied = model.tied};
  }
  /// States of a task with a stack, in bytes for each element.
  [[nodiscard]] memory::States states() const {
    memory::States states = stack->stack.states;
    states.weight = changes.weight.value_or(states.weight);
    states.gradient = changes.gradient.value_or(states.gradient);
    states.master = changes.master.value_or(states.master);
    states.moments = changes.moments.value_or(states.moments);
    states.step = changes.step.value_or(states.step);
    return states;
  }
  /// The loss of a task with a stack and `tensor` tensor ranks.
  [[nodiscard]] memory::Loss loss(std::int64_t tensor) const {
    memory::Loss loss = changes.loss.value_or(stack->stack.loss);
    const bool is_other = !changes.loss && tensor > 1 && stack->stack.tensor_loss;
    if (is_other) loss.kind = *stack->stack.tensor_loss;
    return loss;
  }
  /// Whether a layout with whole experts is searched with these degrees.
  [[nodiscard]] bool may_have_whole_experts(const Degrees& of) const {
    const auto& given = choices.layouts;
    return stack && model.experts && of[Role::Tensor] > 1 &&
           model.experts->count % expert_ranks(of, TensorLayout::WholeExperts) == 0 &&
           (given.empty() ||
            std::find(given.begin(), given.end(), TensorLayout::WholeExperts) != given.end());
  }
  /// Whether the choices allow the number of expert ranks of a layout.
  [[nodiscard]] bool allows_experts(const Degrees& of, TensorLayout layout) const {
    return choices.degrees[static_cast<std::size_t>(Role::Expert)].allows(expert_ranks(of, layout));
  }
  /// Whether the choices allow the number of expert ranks of some layout.
  [[nodiscard]] bool allows_experts(const Degrees& of) const {
    return allows_experts(of, TensorLayout::LeastSent) ||
           (may_have_whole_experts(of) && allows_experts(of, TensorLayout::WholeExperts));
  }
};

}  // namespace dfsearch::training
