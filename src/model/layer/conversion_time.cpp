// The time to convert a tensor from the layout of its producer to the layout that its consumer
// requires, one axis of the tensor group after the other (docs/model.md, section 6).

#include <algorithm>
#include <array>

#include "graph/dataflow_graph.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

/// A tensor on its way from its producer to a consumer, axis by axis.
class Passage {
 public:
  Passage(const NetworkContext& context, const Tensor& tensor, LoopPair producer, LoopPair consumer)
      : context_(context),
        graph_(context.problem.workload.graph),
        tensor_(tensor),
        producer_(producer),
        consumer_(consumer),
        made_(produced_layouts(producer)),
        wanted_(wanted_layouts(context.problem, tensor, consumer)) {}

  /// The time to convert the tensor along one axis, before or after the other axis.
  // docs/model.md (37)
  [[nodiscard]] Seconds along(std::size_t axis, bool other_is_done) const {
    const Collectives& group = context_.axes[axis];
    if (group.members() == 1) return Seconds{};
    const Conversion needed = conversion(made_[axis], wanted_[axis]);
    const bool on_shard = !converts_values(context_.problem);
    if (needed == Conversion::Free && (on_shard || made_[axis] != Layout::RowSplit)) {
      return Seconds{};
    }
    const std::size_t other = 1 - axis;
    State state{.made = producer_, .is_done = {}};
    state.is_done[other] = other_is_done;
    if (other_is_done) state.made.loops[other] = Loop::None;
    const Bytes shard = bytes(state);
    state.made.loops[axis] = Loop::None;
    const double chips = static_cast<double>(group.members());
    const double tiles = static_cast<double>(context_.tiles);
    // A tensor is converted step by step if both its kernels work in steps.
    const auto steps = static_cast<double>(
        std::min(graph_.kernel(tensor_.from).steps, graph_.kernel(tensor_.to).steps));
    if (needed == Conversion::AllGather) {
      const Bytes whole = bytes(state);
      const Bytes gathered = std::min(shard * chips, whole * (chips / (chips - 1.0)));
      return group.all_gather(on_shard ? shard : gathered) + steps * group.gather_latency() / tiles;
    }
    Seconds exchange;
    if (on_shard) {
      exchange = group.all_to_all_per_pair(shard);
    } else {
      state.is_done[axis] = true;
      const Bytes dealt = bytes(state);
      if (needed == Conversion::Free && dealt <= shard) return Seconds{};
      exchange = group.all_to_all(std::max(shard, dealt));
    }
    return exchange + steps * group.exchange_latency() / tiles;
  }

 private:
  /// The layout of a tensor during its conversion: as the producer makes it along axes with a loop
  /// in `made`, as the consumer requires it along axes that are done, and whole along others.
  struct State {
    LoopPair made;
    std::array<bool, kTensorAxes> is_done{};
  };

  /// The bytes of a tile on one chip.  The consumer splits a tensor into whole units: columns (also
  /// for tokens), heads, rows of a sum, or rows.
  // docs/model.md (37)
  [[nodiscard]] Bytes bytes(const State& state) const {
    const ChipGrid& grid = context_.machine.grid();
    const Bytes word = context_.problem.workload.word;
    if (!state.is_done[0] && !state.is_done[1]) {
      return tensor_bytes(graph_, tensor_, state.made, grid, context_.tiles, word);
    }
    std::int64_t columns = 1;
    std::int64_t sums = 1;
    std::int64_t heads = 1;
    std::int64_t rows = 1;
    for (std::size_t axis = 0; axis < kTensorAxes; ++axis) {
      if (!state.is_done[axis] || wanted_[axis] == Layout::Replicated) continue;
      const bool by_heads = consumer_.loops[axis] == Loop::Outer && !grid.splits_heads;
      std::int64_t& parts = wanted_[axis] == Layout::ColumnSplit ? columns
                            : wanted_[axis] == Layout::SumSplit  ? sums
                            : by_heads                           ? heads
                                                                 : rows;
      parts *= grid.members(axis);
    }
    const Kernel& to = graph_.kernel(tensor_.to);
    const Shard made = tensor_shard(graph_, tensor_, state.made, grid, 1);
    Extents part = extents_of(graph_.kernel(tensor_.from));
    part.outer = 1;
    part.m = made.m;
    part.n = ceil_div(made.n, columns);
    if (sums > 1) part.m = ceil_div(to.m, sums) * ceil_div(part.m, to.m);
    if (heads > 1) {
      const std::int64_t shared = shared_heads(graph_, tensor_);
      const std::int64_t of_head = ceil_div(part.m, shared);
      part.m = std::min(part.m, heads_held(to.outer, shared, heads) * of_head);
    }
    part.m = ceil_div(part.m, rows);
    return output_bytes(shard_of(part, Loop::None, grid, context_.tiles), word);
  }

  const NetworkContext& context_;
  const DataflowGraph& graph_;
  const Tensor& tensor_;
  const LoopPair producer_;
  const LoopPair consumer_;
  const LayoutPair made_;
  const LayoutPair wanted_;
};

Seconds computed_conversion_time(const NetworkContext& context, const Tensor& tensor,
                                 LoopPair producer, LoopPair consumer) {
  const Passage passage(context, tensor, producer, consumer);
  const Seconds first = passage.along(0, false);
  if (context.axes[1].members() == 1) return first;
  const Seconds inner_first = first + passage.along(1, true);
  if (inner_first == Seconds{}) return inner_first;
  return std::min(inner_first, passage.along(1, false) + passage.along(0, true));
}

}  // namespace

// docs/model.md (37)
Seconds conversion_time(const NetworkContext& context, const Tensor& tensor, LoopPair producer,
                        LoopPair consumer) {
  const auto compute = [&] {
    return computed_conversion_time(context, tensor, producer, consumer);
  };
  return context.conversions ? context.conversions->time(tensor, producer, consumer, compute)
                             : compute();
}

}  // namespace dfsearch
