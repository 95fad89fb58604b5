#pragma once
// A training step that is to be planned: a model, a machine, and the decisions already taken.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/machine/machine.hpp"
#include "model/problem.hpp"
#include "model/stack/stack.hpp"
#include "model/training/framework.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// What a plan may be; an empty list leaves all.
struct Choices {
  std::array<DegreeChoice, kRoles.size()> degrees;  ///< by role; Data: replicas, experts' included
  std::vector<std::int64_t> micro_batches;
  std::vector<TensorLayout> layouts;
  std::vector<Recompute> recomputes;
  std::vector<int> zeros;
  std::vector<Schedule> schedules;
  std::vector<std::int64_t> chunks;
  std::optional<Offload> offload;
  std::vector<std::int64_t> layers;          ///< of each stage, which then are so many
  std::vector<std::optional<Role>> network;  ///< per dimension: the one role it serves
};

/// Bytes of an element of what a replica keeps and sends.
struct StateBytes {
  double gradient = 4.0;    ///< as it is added up over micro-batches
  double sent = 2.0;        ///< as replicas add it up
  double optimizer = 12.0;  ///< master weight and both moments
};

struct Task {
  Transformer model;
  TransformerPass pass;  ///< of a sample; `dense` is not read
  std::int64_t global_batch = 1;
  /// All degrees are given, and no strategy is read.  A dimension may serve several roles: its degree
  /// is the product of theirs, and a group of k of its chips talks like a dimension of degree k.
  Machine machine;
  /// Kernels of a layer one after the other, or fused on the chip, where exchanges are waited for
  /// all the same (docs/training.md, section 5).
  Style style = Style::KernelByKernel;
  /// At most so many partitions of each pass of a part; left out: one per kernel.
  std::optional<std::int64_t> partitions;
  /// Compute and memory of a kernel, or of a partition, one after the other, or side by side.
  Overlap overlap = Overlap::None;
  /// The replicas add up gradients while the last micro-batch goes back.
  bool data_overlap = true;
  StateBytes bytes;
  /// Kernels, exchanges and memory as measured, with the software that runs them; without it the
  /// rates of the machine hold (docs/truth.md).
  std::optional<stack::Setup> stack;
  Choices choices;
  std::optional<Framework> framework;  ///< that is to run the plan; left out: any

  /// Whether interleaved stages and their chunks may differ by their layers.
  [[nodiscard]] bool has_uneven_chunks() const {
    return stack.has_value() && !(framework && has_equal_chunks(*framework));
  }
};

}  // namespace dfsearch::training
