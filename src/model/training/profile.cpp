// Kernel by kernel: extents on one chip by the rule of each axis, then FLOP and bytes, then the
// time of each at the rate that so much work reaches.

#include "model/training/profile.hpp"

#include <algorithm>

#include "model/training/block_exchanges.hpp"
#include "model/training/kernel_shares.hpp"

namespace dfsearch::training {
namespace {

class Profiler {
 public:
  Profiler(const Task& task, const Block& block, const KernelShares& shares)
      : task_(task), block_(block), graph_(block.graph()), shares_(shares) {}

  BlockProfile run() {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) add_kernel(KernelId(k));
    for (std::size_t v = 0; v < block_.values().size(); ++v) add_value(v);
    return std::move(profile_);
  }

 private:
  /// Bytes that a kernel reads but for its weight, and writes.
  [[nodiscard]] Bytes streamed(KernelId id, const Extents& extents) const {
    Bytes sum = shares_.results(id, extents);
    for (std::size_t i = 0; i < graph_.inputs(id).size(); ++i) sum += shares_.read(id, i);
    for (const std::size_t v : block_.computed(id)) sum += shares_.produced(v);
    return sum;
  }

  // docs/training.md (8)
  [[nodiscard]] WorkTime time_of(KernelId id, const Extents& extents, Bytes streamed) const {
    const Seconds compute = shares_.compute(id, extents);
    const Bytes moved = streamed + shares_.weight(id, extents);
    const Seconds memory = task_.machine.memory[0].time(moved);
    const Seconds both =
        task_.overlap == Overlap::None ? compute + memory : std::max(compute, memory);
    return {.time = both,
            .memory = task_.overlap == Overlap::None ? both - compute : Seconds{},
            .flop = shares_.flops(id, extents),
            .moved = moved};
  }

  void add_kernel(KernelId id) {
    // docs/training.md (1)
    const double parameters = shares_.parameters(id);
    (block_.is_grouped(id) ? profile_.expert_parameters : profile_.parameters) += parameters;
    if (block_.part() == Part::Last && graph_.kernel(id).has_weight()) {
      profile_.head_parameters += parameters;
    }
    const Block::Pass pass = block_.pass(id);
    if (pass == Block::Pass::None) return;
    const Extents extents = shares_.extents(id);
    const Bytes moved = streamed(id, extents);
    const WorkTime time = time_of(id, extents, moved);
    const bool is_attention = graph_.kernel(id).kind == KernelKind::Attention;
    if (pass == Block::Pass::Forward) {
      profile_.forward += time;
      if (block_.is_scoring(id)) profile_.scoring += time;
      if (is_attention || block_.is_scoring(id)) profile_.attention_forward += time.time;
      return;
    }
    if (is_attention) profile_.attention_backward += time.time;
    (pass == Block::Pass::WeightGradient ? profile_.weight_gradient : profile_.input_gradient) +=
        time;
    profile_.working = std::max(profile_.working, moved);
  }

  // docs/training.md (3)
  void add_value(std::size_t v) {
    const Block::Value& value = block_.values()[v];
    if (value.is_kept) (value.is_score ? profile_.kept_scores : profile_.kept) += shares_.kept(v);
    if (value.is_input) profile_.input += shares_.produced(v);
  }

  const Task& task_;
  const Block& block_;
  const DataflowGraph& graph_;
  const KernelShares& shares_;
  BlockProfile profile_;
};

}  // namespace

BlockProfile profile(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch) {
  const KernelShares shares(task, block, layouts, degrees, micro_batch);
  BlockProfile profile = Profiler(task, block, shares).run();
  profile.exchanges = exchanges_of(block, layouts, shares.values(), task.pass.word);
  return profile;
}

}  // namespace dfsearch::training
