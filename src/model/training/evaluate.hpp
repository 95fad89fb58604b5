#pragma once
// The cost of one plan of a training step, or the reason why it does not fit.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "model/training/block.hpp"
#include "model/training/fused_part.hpp"
#include "model/training/memory.hpp"
#include "model/training/plan.hpp"
#include "model/training/step.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

struct Cost {
  Seconds step_time{};
  StepParts parts;
  MemoryUse memory;                          ///< of the fullest stage
  std::optional<MemoryJudgement> judgement;  ///< with a stack
  std::int64_t fullest = 0;
  std::int64_t slowest = 0;
  std::int64_t micro_batches = 1;
  double utilization = 0.0;        ///< FLOP of the model over the peak of all matrix engines
  double tokens_per_second = 0.0;  ///< tokens of the whole machine
  Dollars price{};                 ///< price of the whole machine
  Watts power{};
  FlopsPerSecondPerDollar cost_efficiency{};  ///< 0 when nothing has a price
  FlopsPerSecondPerWatt power_efficiency{};
  std::optional<Energy> energy;  ///< energy of a step; nothing if the machine states no energies
  Score objective{};             ///< value that the task minimises
};

/// A stage that holds more than its chips have.
struct Misfit {
  std::int64_t stage = 0;
  MemoryUse memory;
  std::optional<MemoryJudgement> judgement = std::nullopt;  ///< with a stack
};

/// The plan must be complete and consistent: degrees multiply to the chips and are divided among
/// the dimensions, micro-batches divide the batch, layers add up.  Otherwise, or if a fusion does
/// not fit, throws InternalError.  Fusions are used if the task fuses kernels.
std::variant<Cost, Misfit> evaluate(const Task& task, const Blocks& blocks, const Plan& plan,
                                    const Fusions& fusions = {});

/// The work of a chip in each part of the model for one micro-batch of a plan.
Profiles profiles_of(const Task& task, const Blocks& blocks, const Plan& plan,
                     const Fusions& fusions);

/// Whether the order on a mesh contains every role of more than one chip exactly once.
bool is_placed(const Division& division);

/// FLOP of the model in a step: the matrix products, without recomputation.
Flops model_flops(const Task& task);

/// The network of a machine of measured chips: domains, and the network that joins them.
std::vector<NetworkDimension> network_of(const stack::MeasuredChip& chip, std::int64_t chips);

/// The network with the roles in the usual order of software: tensor, context, expert, data and
/// pipeline from the inside out.  Nothing if the domains cannot be divided in this order.
std::optional<std::vector<Division>> usual_network(const Machine& machine, const Degrees& degrees);

struct RunTime {
  Seconds step{};
  StepParts parts;
  MemoryUse memory;  ///< of the fullest stage
  bool fits = true;
  MemoryJudgement judgement;
  std::vector<memory::ByLevel<memory::StageMemory>> stages;
  std::vector<std::int64_t> layers;  ///< of each stage
};

/// The task must have a stack.  Layers are spread as the task states or as the library of the stack
/// spreads them, otherwise for the least step.  A plan that exceeds the memory is timed, and `fits`
/// is false.
RunTime run_time(const Task& task, const Plan& plan);

}  // namespace dfsearch::training
