#pragma once
// The times, memory and exchanges of one chip in a block, for one micro-batch (docs/training.md,
// sections 3 and 5).

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "model/stack/block_work.hpp"
#include "model/training/block.hpp"
#include "model/training/layouts.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// The layouts of the values of a block on the axes that divide a sample or the experts; null if
/// the degree is 1.
struct BlockLayouts {
  const AxisLayout* tensor = nullptr;
  const AxisLayout* context = nullptr;
  const AxisLayout* expert = nullptr;
};

/// An exchange among the chips of one role for one micro-batch.
struct BlockExchange {
  Role role = Role::Tensor;
  Exchange exchange = Exchange::AllGather;
  Phase phase = Phase::Forward;
  bool behind_attention = false;  ///< sent in pieces, while attention works on the piece before
  Bytes whole{};                  ///< bytes of the whole value of the group
};

/// The time of compute and memory together, and the work that is done in it.
struct WorkTime {
  Seconds time{};
  Seconds memory{};  ///< part of `time` beside which no copy runs; 0 with overlap
  Flops flop{};
  Bytes moved{};  ///< to and from memory

  WorkTime& operator+=(const WorkTime& other) {
    time += other.time;
    memory += other.memory;
    flop += other.flop;
    moved += other.moved;
    return *this;
  }
};

struct BlockProfile {
  WorkTime forward;
  WorkTime input_gradient;
  WorkTime weight_gradient;
  WorkTime scoring;  ///< the part of `forward` that selective recomputation runs again
  Seconds attention_forward{}, attention_backward{};  ///< time of attention in a pass
  Bytes kept{};  ///< bytes kept for the backward pass, without scores
  Bytes kept_scores{};
  Bytes input{};                   ///< bytes of the input, in the layout of the block before
  Bytes working{};                 ///< most bytes that a backward kernel reads and writes
  double parameters = 0.0;         ///< elements that every replica has
  double expert_parameters = 0.0;  ///< elements that the replicas of an expert have
  double head_parameters = 0.0;    ///< elements of the head, a part of `parameters`
  std::vector<BlockExchange> exchanges;
  stack::BlockWork work;  ///< with a stack, replaces times and exchanges
};

/// The profiles of the parts that a task has, by Part.
struct Profiles : std::array<BlockProfile, kParts.size()> {
  std::vector<BlockProfile> further;  ///< profiles of the third kind of layers and of later ones
};

inline const BlockProfile& of(const Profiles& profiles, Part part) {
  return profiles[static_cast<std::size_t>(part)];
}
/// The profile of a kind of layers; kinds are counted from 0.
inline const BlockProfile& of_kind(const Profiles& profiles, std::size_t kind) {
  return kind < 2 ? profiles[kind] : profiles.further[kind - 2];
}

/// Elements of a part that every replica has.  If there is a single stage, the weight of a tied
/// embedding and head counts once, with the embedding.
inline double parameters_in(const Task& task, const Degrees& degrees, const BlockProfile& block) {
  const bool shares = task.model.tied && degrees[Role::Pipeline] == 1;
  return block.parameters - (shares ? block.head_parameters : 0.0);
}

/// Elements of a part that are trained; for tasks with a stack.
inline double trained_in(const Task& task, const Degrees& degrees, const BlockProfile& block) {
  return task.lora ? block.work.trained_parameters : parameters_in(task, degrees, block);
}

/// The profile of a block.  `layouts` must be those of the block with these degrees.
/// docs/training.md, sections 3 and 5.
BlockProfile profile(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch);

/// The profiles of all parts of a task with a stack, without a search for layouts. docs/truth.md,
/// sections 1 to 3 and 8.
Profiles stack_profiles(const Task& task, const Degrees& degrees, TensorLayout layout,
                        std::int64_t micro_batch);

/// How the values of a block are divided among the chips of the axes.
struct ValueShares {
  std::int64_t tensor = 1, context = 1, expert = 1;
  double samples = 1.0;  ///< of a micro-batch

  /// Elements of a value on one chip, in these layouts; the expert axis divides samples.
  [[nodiscard]] double elements(const Block::Value& value, ValueLayout on_tensor,
                                ValueLayout on_context) const;
};

/// The exchanges for the conversions on each axis.  Their bytes depend on the layouts that the
/// value has on the other axes when it is converted.  A value that is converted on several axes is
/// converted in the order that sends least.  Ties go to the order that sends least among context
/// and expert ranks, whose groups lie further apart.
std::vector<BlockExchange> exchanges_of(const Block& block, const BlockLayouts& layouts,
                                        const ValueShares& shares, Bytes word);

}  // namespace dfsearch::training
