#include <algorithm>
#include <utility>

#include "model/training/layouts.hpp"
#include "model/training/value_delivery.hpp"

namespace dfsearch::training {
namespace {

/// The amount of a value that a chip has; with n chips on the axis, the unit is an n-th of the
/// value.
double held_parts(ValueLayout layout, HeadCopies copies, const AxisRules& axis) {
  const double chips = static_cast<double>(axis.chips);
  if (layout == ValueLayout::Replicated || layout == ValueLayout::Partial) return chips;
  const bool is_copied = layout == ValueLayout::Features && copies != HeadCopies::None;
  return is_copied ? chips / static_cast<double>(axis.kv_heads) : 1.0;
}

/// The amount that each chip sends, in units of (n-1)/n^2 of a value.
double sent_parts(Exchange exchange, double chips) {
  switch (exchange) {
    case Exchange::AllGather:
    case Exchange::ReduceScatter:
      return chips;
    case Exchange::AllReduce:
      return 2.0 * chips;
    case Exchange::AllToAll:
      break;
  }
  return 1.0;
}

/// Parts of a value on a chip, by layout.
using Parts = std::array<double, kLayouts>;

/// For each value and layout, the amount on a chip.
std::vector<Parts> value_parts(const DataflowGraph& graph, const AxisRules& axis) {
  std::vector<Parts> kept(graph.values().size());
  for (std::size_t value = 0; value < kept.size(); ++value) {
    const HeadCopies copies = head_copies(graph, value, axis);
    for (std::size_t i = 0; i < kLayouts; ++i) {
      kept[value][i] =
          value_elements(graph, value) * held_parts(static_cast<ValueLayout>(i), copies, axis);
    }
  }
  return kept;
}

/// The amounts of the inputs and outputs of a kernel on a chip; an output is stored with the number
/// of its value.
struct Streams {
  std::vector<Parts> inputs;
  std::vector<std::pair<int, Parts>> outputs;
};

std::vector<Streams> streams_of(const DataflowGraph& graph, const AxisRules& axis) {
  const std::vector<Parts> parts = value_parts(graph, axis);
  std::vector<Streams> streams(graph.kernel_count());
  for (Streams& own : streams) {
    own.inputs.resize(
        graph.inputs(KernelId(static_cast<std::size_t>(&own - streams.data()))).size());
  }
  for (std::size_t value = 0; value < parts.size(); ++value) {
    const std::vector<TensorId>& tensors = graph.values()[value];
    const Tensor& first = graph.tensor(tensors.front());
    streams[first.from.index()].outputs.emplace_back(first.value, parts[value]);
    for (const TensorId t : tensors) {
      const KernelId to = graph.tensor(t).to;
      const auto inputs = graph.inputs(to);
      const auto place = std::find(inputs.begin(), inputs.end(), t) - inputs.begin();
      streams[to.index()].inputs[static_cast<std::size_t>(place)] = parts[value];
    }
  }
  return streams;
}

/// The indices of the three criteria in the cost.
struct Places {
  std::size_t sent, collectives, kept;
};

LayoutCosts costs_of(const DataflowGraph& graph, const AxisRules& axis, const Places& at) {
  const double chips = static_cast<double>(axis.chips);
  return {.kernel = {},
          .conversion =
              [at, chips](const Conversion& conversion) {
                LayoutCost cost{};
                if (chips > 1.0) {
                  cost[at.sent] = conversion.elements * sent_parts(conversion.exchange, chips);
                }
                cost[at.collectives] = 1.0;
                return cost;
              },
          .kept =
              [at, kept = value_parts(graph, axis)](std::size_t value, ValueLayout layout) {
                LayoutCost cost{};
                cost[at.kept] = kept[value][static_cast<std::size_t>(layout)];
                return cost;
              }};
}

}  // namespace

double sent_elements(const Conversion& conversion, std::int64_t chips) {
  const double n = static_cast<double>(chips);
  return conversion.elements * sent_parts(conversion.exchange, n) * (n - 1.0) / (n * n);
}

LayoutCosts least_sent(const DataflowGraph& graph, const AxisRules& axis) {
  return costs_of(graph, axis, {.sent = 0, .collectives = 1, .kept = 2});
}

LayoutCosts least_kept(const DataflowGraph& graph, const AxisRules& axis) {
  return costs_of(graph, axis, {.sent = 1, .collectives = 2, .kept = 0});
}

LayoutCosts sent_and_kept(const DataflowGraph& graph, const AxisRules& axis) {
  LayoutCosts costs = costs_of(graph, axis, {.sent = 0, .collectives = 2, .kept = 1});
  const auto conversion = costs.conversion;
  costs.conversion = [conversion](const Conversion& c) {
    LayoutCost cost = conversion(c);
    cost[2] = 0.0;
    return cost;
  };
  costs.kernel = [streams = streams_of(graph, axis)](KernelId kernel, const LayoutRule& rule) {
    const Streams& own = streams[kernel.index()];
    LayoutCost cost{};
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      cost[2] += own.inputs[i][static_cast<std::size_t>(rule.inputs[i])];
    }
    for (const auto& [number, parts] : own.outputs) {
      const bool by_itself = number >= 1 && !rule.parts.empty();
      const ValueLayout layout =
          by_itself ? rule.parts[static_cast<std::size_t>(number - 1)] : rule.output;
      cost[2] += parts[static_cast<std::size_t>(layout)];
    }
    return cost;
  };
  return costs;
}

}  // namespace dfsearch::training
