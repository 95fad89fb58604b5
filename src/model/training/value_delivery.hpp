#pragma once
// The conversions of one value from its producer to its consumers (docs/training.md, section 2).

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

/// Finds the delivery of one value.  Refers to the graph, the axis and the costs.  For use by one
/// thread.
class DeliveryFinder {
 public:
  DeliveryFinder(const DataflowGraph& graph, std::size_t value, const AxisRules& axis,
                 const LayoutCosts& costs);

  [[nodiscard]] KernelId producer() const { return producer_; }
  [[nodiscard]] const std::vector<ValueUse>& uses() const { return uses_; }

  /// Whether the value is an output of a forward kernel that backward kernels read in the kept
  /// layout.
  [[nodiscard]] bool is_kept() const { return is_kept_; }

  /// The cheapest delivery; `wanted` has a layout for each use.  Lists the conversions if `list` is
  /// set.
  ValueDelivery deliver(ValueLayout produced, const std::vector<ValueLayout>& wanted, bool list);
  /// The delivery of a value that is kept in the layout `kept`.  The cost is infinite unless this
  /// is `produced` or a layout that a forward consumer requires.
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
  /// Costs of conversions that were computed so far, by use, layout before and layout after.
  std::vector<std::optional<LayoutCost>> known_;
};

/// Elements of a value: its rows times the columns of its producer.
double value_elements(const DataflowGraph& graph, std::size_t value);

}  // namespace dfsearch::training
