#pragma once
// The peak memory of a rank of one stage in training: the largest of four moments of a step
// (docs/truth.md, section 5; Rajbhandari et al., ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models, 2020).  The memory at each moment is a sum of products, which rises
// with each factor.

#include <array>
#include <cstdint>

#include "base/words.hpp"
#include "model/memory/layer_memory.hpp"
#include "model/memory/trained.hpp"

namespace dfsearch::memory {

/// Constants of a software at one level, in bytes or as factors.
struct StackFigures {
  double resident = 0.0;   ///< bytes of workspaces and small buffers
  double fragment = 0.0;   ///< share of temporary tensors that the allocator loses
  double context = 0.0;    ///< bytes of the driver and libraries
  double group = 0.0;      ///< bytes of NCCL for each degree of more than one rank
  double spread = 1.0;     ///< factor on activations
  double imbalance = 1.0;  ///< rows of the fullest rank of experts over an even load
  double logit = 0.0;      ///< bytes that the loss takes for a logit
};

/// Facts of the software that no level changes.
struct StackFacts {
  double gathered_layers = 2.0;  ///< layers gathered at once if replicas divide weights
  bool twice_with_adapters = false;
};

/// A training step, and the division of its states.
struct StepMemory {
  StackFigures figures;
  StackFacts facts;
  States states;
  Gradients gradients = Gradients::Kept;
  Loss loss;
  const Lora* lora = nullptr;
  Recompute recompute = Recompute::None;  ///< not Unknown
  int zero = 0;
  double replicas = 1.0;         ///< ranks with the same weights
  double expert_replicas = 1.0;  ///< ranks with the same experts
  bool in_pipeline = false;
  bool shares_head = false;  ///< the first stage's embedding is the head as well
  double micro_batches = 1.0;
  double groups = 0.0;  ///< degrees of more than one rank

  /// Whether the step has one backward pass, which allocates the gradients, so that none exist
  /// before it.
  [[nodiscard]] bool makes_gradients() const {
    return gradients == Gradients::Made && micro_batches <= 1.0;
  }
};

/// The layers of a stage, and the ends of the model in it (null: not in this stage).
struct StageLayers {
  struct Some {
    const LayerMemory* layer = nullptr;
    double count = 0.0;
  };
  std::array<Some, kMostForms> layers{};
  const LayerMemory* first = nullptr;
  const LayerMemory* last = nullptr;
  double alive = 1.0;  ///< micro-batches in flight
};

enum class Moment : std::uint8_t { Loss, LastLayer, FirstLayer, Step };
constexpr auto words(Moment) { return named<Moment>("loss", "last layer", "first layer", "step"); }
inline constexpr std::size_t kMoments = words(Moment{}).size();

/// Bytes of one rank at the largest moment.  Parts that do not exist at that moment are 0.
struct StageMemory {
  double weights = 0.0, adapters = 0.0, gradients = 0.0, optimizer = 0.0;
  double activations = 0.0, loss = 0.0, working = 0.0, gathered = 0.0, step = 0.0;
  double resident = 0.0, fragments = 0.0, context = 0.0;  ///< `context` includes NCCL
  Moment moment = Moment::Loss;
  std::array<double, kMoments> moments{};  ///< without resident, fragments and context

  [[nodiscard]] double allocated() const {
    return moments[static_cast<std::size_t>(moment)] + resident;
  }
  [[nodiscard]] double device() const { return allocated() + fragments + context; }
};

/// The memory never falls when a layer or an end of the model is added to the stage.
/// docs/truth.md (12) to (15)
StageMemory stage_memory(const StepMemory& step, const StageLayers& stage);

}  // namespace dfsearch::memory
