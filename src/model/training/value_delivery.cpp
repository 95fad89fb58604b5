// A value is made once and read in the layouts that its consumers require.
//
// Forward consumers are served from the layout in which it was made.  A forward value that backward
// kernels read is kept in one layout: the layout in which it was made, or a layout that a forward
// consumer reads.  Backward consumers are served from the kept layout.  Each phase pays once for
// each layout, along the cheapest tree of conversions (value_conversions.hpp), and there are at
// most five layouts, so all choices are tried.

#include "model/training/value_delivery.hpp"

#include <limits>

namespace dfsearch::training {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

LayoutCost sum(const LayoutCost& a, const LayoutCost& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

bool has(LayoutSet set, ValueLayout layout) { return (set & layout_bit(layout)) != 0; }

}  // namespace

double value_elements(const DataflowGraph& graph, std::size_t value) {
  const TensorId first = graph.values()[value].front();
  return static_cast<double>(graph.rows(first)) *
         static_cast<double>(graph.kernel(graph.tensor(first).from).n);
}

DeliveryFinder::DeliveryFinder(const DataflowGraph& graph, std::size_t value, const AxisRules& axis,
                               const LayoutCosts& costs)
    : graph_(graph),
      costs_(costs),
      value_(value),
      producer_(graph.tensor(graph.values()[value].front()).from),
      copies_(head_copies(graph, value, axis)) {
  for (const TensorId t : graph.values()[value]) {
    const KernelId consumer = graph.tensor(t).to;
    std::size_t input = 0;
    while (graph.inputs(consumer)[input] != t) ++input;
    uses_.push_back({.consumer = consumer, .input = input, .phase = graph.kernel(consumer).phase});
    is_kept_ = is_kept_ || (graph.kernel(producer_).phase == Phase::Forward &&
                            uses_.back().phase == Phase::Backward);
  }
  known_.resize(uses_.size() * kLayouts * kLayouts);
}

DeliveryFinder::Wants DeliveryFinder::wants(const std::vector<ValueLayout>& wanted,
                                            Phase phase) const {
  Wants all;
  for (std::size_t use = uses_.size(); use-- > 0;) {
    if (uses_[use].phase != phase) continue;
    all.layouts |= layout_bit(wanted[use]);
    all.first_use[static_cast<std::size_t>(wanted[use])] = use;
  }
  return all;
}

Conversion DeliveryFinder::conversion(ValueLayout from, ValueLayout to, std::size_t use) const {
  return {.value = value_,
          .from = from,
          .to = to,
          .exchange = *passage(from, to, copies_).exchange,
          .phase = uses_[use].phase,
          .elements = value_elements(graph_, value_),
          .producer = producer_,
          .consumer = uses_[use].consumer};
}

const LayoutCost& DeliveryFinder::cost_of(ValueLayout from, ValueLayout to, std::size_t use) {
  const std::size_t index =
      (use * kLayouts + static_cast<std::size_t>(from)) * kLayouts + static_cast<std::size_t>(to);
  std::optional<LayoutCost>& known = known_[index];
  if (known) return *known;
  const Passage way = passage(from, to, copies_);
  if (!way.possible) {
    known = LayoutCost{kUnreachable, kUnreachable, kUnreachable};
  } else if (!way.exchange || !costs_.conversion) {
    known = LayoutCost{};
  } else {
    known = costs_.conversion(conversion(from, to, use));
  }
  return *known;
}

ConversionTree DeliveryFinder::tree(ValueLayout root, const Wants& wants) {
  if ((wants.layouts & ~layout_bit(root)) == 0) return {};
  return cheapest_tree(root, wants.layouts, [&](ValueLayout from, ValueLayout to) {
    return cost_of(from, to, wants.first_use[static_cast<std::size_t>(to)]);
  });
}

void DeliveryFinder::list(const ConversionTree& tree, ValueLayout root, const Wants& wants,
                          std::vector<Conversion>& conversions) const {
  for (std::size_t i = 0; i < kLayouts; ++i) {
    const auto to = static_cast<ValueLayout>(i);
    if (to == root || !has(wants.layouts, to)) continue;
    const ValueLayout from = tree.source[i];
    if (!passage(from, to, copies_).exchange) continue;
    conversions.push_back(conversion(from, to, wants.first_use[i]));
  }
}

ValueDelivery DeliveryFinder::deliver(ValueLayout produced, const std::vector<ValueLayout>& wanted,
                                      bool listed) {
  // Candidates for the kept layout: first the layout of the producer, then layouts made of it.
  ValueDelivery best = deliver_kept(produced, produced, wanted, listed);
  for (std::size_t i = 0; is_kept_ && i < kLayouts; ++i) {
    const auto kept = static_cast<ValueLayout>(i);
    if (kept == produced) continue;
    ValueDelivery other = deliver_kept(kept, produced, wanted, listed);
    if (other.cost < best.cost) best = std::move(other);
  }
  return best;
}

ValueDelivery DeliveryFinder::deliver_kept(ValueLayout kept, ValueLayout produced,
                                           const std::vector<ValueLayout>& wanted, bool listed) {
  const Wants forward = wants(wanted, Phase::Forward);
  ValueDelivery delivery{.cost = {kUnreachable, kUnreachable, kUnreachable}, .kept = kept};
  if (kept != produced && (!is_kept_ || !has(forward.layouts, kept))) return delivery;
  const Wants backward = wants(wanted, Phase::Backward);
  const ConversionTree first = tree(produced, forward);
  const ConversionTree second = tree(kept, backward);
  delivery.cost = sum(first.cost, second.cost);
  if (is_kept_ && costs_.kept) delivery.cost = sum(delivery.cost, costs_.kept(value_, kept));
  if (listed) {
    list(first, produced, forward, delivery.conversions);
    list(second, kept, backward, delivery.conversions);
  }
  return delivery;
}

}  // namespace dfsearch::training
