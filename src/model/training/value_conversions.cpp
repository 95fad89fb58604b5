#include "model/training/value_conversions.hpp"

#include <limits>

#include "model/training/layer_roles.hpp"

namespace dfsearch::training {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// Every wanted layout with one source after the other, depth first.
class TreeSearch {
 public:
  TreeSearch(ValueLayout root, LayoutSet wanted, const PassageCost& cost)
      : root_(root), cost_(cost), best_{.cost = {kImpossible, kImpossible, kImpossible}} {
    for (std::size_t i = 0; i < kLayouts; ++i) {
      const auto layout = static_cast<ValueLayout>(i);
      if (layout != root && (wanted & layout_bit(layout)) != 0) wanted_[count_++] = layout;
    }
  }

  ConversionTree run() {
    extend(0, {});
    return best_;
  }

 private:
  void extend(std::size_t next, const LayoutCost& cost) {
    if (next == count_) {
      if (cost < best_.cost && is_tree()) best_ = {.cost = cost, .source = source_};
      return;
    }
    const ValueLayout to = wanted_[next];
    for (std::size_t i = 0; i <= count_; ++i) {
      const ValueLayout from = i == 0 ? root_ : wanted_[i - 1];
      if (from == to) continue;
      const LayoutCost own = cost_(from, to);
      source_[static_cast<std::size_t>(to)] = from;
      extend(next + 1, {cost[0] + own[0], cost[1] + own[1], cost[2] + own[2]});
    }
  }

  [[nodiscard]] bool is_tree() const {
    for (std::size_t i = 0; i < count_; ++i) {
      ValueLayout at = wanted_[i];
      for (std::size_t steps = 0; at != root_; ++steps) {
        if (steps == count_) return false;  // round in a circle
        at = source_[static_cast<std::size_t>(at)];
      }
    }
    return true;
  }

  ValueLayout root_;
  const PassageCost& cost_;
  std::array<ValueLayout, kLayouts> wanted_{};
  std::size_t count_ = 0;
  std::array<ValueLayout, kLayouts> source_{};
  ConversionTree best_;
};

}  // namespace

HeadCopies head_copies(const DataflowGraph& graph, std::size_t value, const AxisRules& axis) {
  if (axis.axis != Axis::Tensor || axis.chips <= axis.kv_heads) return HeadCopies::None;
  const Tensor& tensor = graph.tensor(graph.values()[value].front());
  const LayerRole role = role_of(graph, tensor.from);
  if (role.role == KernelRole::Attention) {
    if (graph.kernel(tensor.from).phase == Phase::Forward) return HeadCopies::None;
    const int operand = graph.tensor(differentiated(graph, tensor)).operand;
    return operand == 1 ? HeadCopies::None : HeadCopies::OfGradient;
  }
  // The gradient that a weight hands back is that of its input, which has no heads of keys.
  if (role.unit != RowUnit::KeyHead || role.role == KernelRole::DataGradient) {
    return HeadCopies::None;
  }
  return graph.kernel(tensor.from).phase == Phase::Forward ? HeadCopies::OfValue
                                                           : HeadCopies::OfGradient;
}

Passage passage(ValueLayout from, ValueLayout to, HeadCopies copies) {
  constexpr Passage kImpossiblePassage{};
  const auto by = [](Exchange exchange) { return Passage{.possible = true, .exchange = exchange}; };
  if (from == to) return {.possible = true};
  if (to == ValueLayout::Partial) return kImpossiblePassage;
  if (from == ValueLayout::Experts || to == ValueLayout::Experts) {
    const ValueLayout other = from == ValueLayout::Experts ? to : from;
    return other == ValueLayout::Tokens ? by(Exchange::AllToAll) : kImpossiblePassage;
  }
  if (from == ValueLayout::Replicated) return {.possible = true};
  // Summands of a head are summands of the whole, with zeros for the other heads.
  const bool is_sum = from == ValueLayout::Partial ||
                      (from == ValueLayout::Features && copies == HeadCopies::OfGradient);
  if (to == ValueLayout::Replicated) return by(is_sum ? Exchange::AllReduce : Exchange::AllGather);
  // Heads that several chips want are taken from the whole.
  if (to == ValueLayout::Features && copies != HeadCopies::None) {
    return by(is_sum ? Exchange::AllReduce : Exchange::AllGather);
  }
  return by(is_sum ? Exchange::ReduceScatter : Exchange::AllToAll);
}

ConversionTree cheapest_tree(ValueLayout root, LayoutSet wanted, const PassageCost& cost) {
  return TreeSearch(root, wanted, cost).run();
}

}  // namespace dfsearch::training
