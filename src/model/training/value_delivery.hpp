#pragma once
// The way of one value from its producer to its consumers (docs/training.md, section 2).

#include <cstddef>
#include <vector>

#include "model/training/layouts.hpp"
#include "model/training/value_conversions.hpp"

namespace dfsearch::training {

struct ValueUse {
  KernelId consumer;
  std::size_t input;
  Phase phase;
};

struct ValueDelivery {
  LayoutCost cost{};  ///< infinite if a consumer cannot be served
  ValueLayout kept{};
  std::vector<Conversion> conversions{};
};

/// Finds the delivery of one value.  Refers to the graph, the axis and the costs.  One thread.
class DeliveryFinder {
 public:
  DeliveryFinder(const DataflowGraph& graph, std::size_t value, const AxisRules& axis,
                 const LayoutCosts& costs);

  [[nodiscard]] KernelId producer() const { return producer_; }
  [[nodiscard]] const std::vector<ValueUse>& uses() const { return uses_; }

  /// Whether backward kernels read an output of a forward kernel, in the layout that is kept.
  [[nodiscard]] bool is_kept() const { return is_kept_; }

  /// `wanted` has a layout for each of the uses.  The conversions are listed if asked for.
  ValueDelivery deliver(ValueLayout produced, const std::vector<ValueLayout>& wanted, bool list);
  /// The delivery of a value that is kept in this layout: as made, or as a forward consumer
  /// requires it; otherwise the cost is infinite.
  ValueDelivery deliver_kept(ValueLayout kept, ValueLayout produced,
                             const std::vector<ValueLayout>& wanted, bool list);

 private:
  /// The layouts that the consumers of a phase require, and the first consumer of each.
  struct Wants {
    LayoutSet layouts = 0;
    std::array<std::size_t, kLayouts> first_use{};
  };

  [[nodiscard]] Wants wants(const std::vector<ValueLayout>& wanted, Phase phase) const;
  [[nodiscard]] ConversionTree tree(ValueLayout root, const Wants& wants);
  [[nodiscard]] Conversion conversion(ValueLayout from, ValueLayout to, std::size_t use) const;
  const LayoutCost& cost_of(ValueLayout from, ValueLayout to, std::size_t use);
  void list(const ConversionTree& tree, ValueLayout root, const Wants& wants,
            std::vector<Conversion>& conversions) const;

  const DataflowGraph& graph_;
  const LayoutCosts& costs_;
  std::size_t value_;
  KernelId producer_;
  HeadCopies copies_;
  bool is_kept_ = false;
  std::vector<ValueUse> uses_;
  /// Costs found so far, by use, from and to.
  std::vector<std::optional<LayoutCost>> known_;
};

/// Elements of a value: its rows times the columns of its producer.
double value_elements(const DataflowGraph& graph, std::size_t value);

}  // namespace dfsearch::training
