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

/// How the values of a block lie on the axes that divide a sample or the experts.  Null where
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
  bool behind_attention = false;  ///< piece by piece while attention works on the one before
  Bytes whole{};                  ///< of the group
};

/// The time of compute and memory together, and the work that is done in it.
struct WorkTime {
  Seconds time{};
  Seconds memory{};  ///< of it where memory does not overlap compute: no copy runs beside that
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
  Seconds attention_forward{}, attention_backward{};  ///< parts of the first two
  Bytes kept{};                                       ///< for the backward pass, without scores
  Bytes kept_scores{};
  Bytes input{};                   ///< of the block, in the layout of the block before
  Bytes working{};                 ///< the most that a backward kernel reads and writes
  double parameters = 0.0;         ///< elements that every replica has
  double expert_parameters = 0.0;  ///< elements that the replicas of an expert have
  double head_parameters = 0.0;    ///< of `parameters`: the weight of the head
  std::vector<BlockExchange> exchanges;
  stack::BlockWork work;  ///< with a stack in place of times and exchanges
};

/// The profiles of the parts that a task has, by Part.
struct Profiles : std::array<BlockProfile, kParts.size()> {
  std::vector<BlockProfile> further;  ///< of the kinds of layers from the third on
};

inline const BlockProfile& of(const Profiles& profiles, Part part) {
  return profiles[static_cast<std::size_t>(part)];
}
/// Of a kind of layers, counted from 0.
inline const BlockProfile& of_kind(const Profiles& profiles, std::size_t kind) {
  return kind < 2 ? profiles[kind] : profiles.further[kind - 2];
}

/// Elements that every replica of a part has: a single stage has the weight of a tied embedding and
/// head once, as part of the embedding.
inline double parameters_in(const Task& task, const Degrees& degrees, const BlockProfile& block) {
  const bool shares = task.model.tied && degrees[Role::Pipeline] == 1;
  return block.parameters - (shares ? block.head_parameters : 0.0);
}

/// Elements of a part that are trained, with a stack.
inline double trained_in(const Task& task, const Degrees& degrees, const BlockProfile& block) {
  return task.lora ? block.work.trained_parameters : parameters_in(task, degrees, block);
}

/// Degrees divide by their roles; `layouts` belong to the block with these degrees.
/// docs/training.md, sections 3 and 5.
BlockProfile profile(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch);

/// All parts of a task with a stack, by counting alone.  docs/truth.md, sections 1 to 3 and 8.
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

/// The conversions on each axis, whose bytes depend on the layout that the value has then on the
/// others.  A value that is converted on several axes is converted in the order that sends least;
/// of equal ones in the one that sends least among context and expert ranks, whose groups lie
/// further apart.
std::vector<BlockExchange> exchanges_of(const Block& block, const BlockLayouts& layouts,
                                        const ValueShares& shares, Bytes word);

}  // namespace dfsearch::training
