#pragma once
// How the values of a transformer layer lie on the chips of one axis of the machine, and the
// assignment of layouts that costs least (docs/training.md, section 2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "graph/dataflow_graph.hpp"

namespace dfsearch::training {

/// The axes of the machine, by the extents that their chips divide.  Each axis has layouts of its
/// own.
enum class Axis : std::uint8_t {
  Tensor,   ///< weights, or tokens in kernels without a weight
  Context,  ///< the tokens of a sample; every chip has all weights
  Expert,   ///< samples, and the experts among the weights
};

enum class ValueLayout : std::uint8_t {
  Replicated,  ///< every chip has the whole value
  Features,    ///< split by rows; values with heads by whole heads
  Tokens,      ///< split by columns; on the expert axis by samples
  Experts,     ///< the rows of an expert are on the chip that has the expert
  Partial,     ///< every chip has a summand of the size of the whole
};
inline constexpr std::size_t kLayouts = 5;

/// One way to divide a kernel: the divided loop, and the layouts of its inputs and output.
struct LayoutRule {
  /// On the expert axis, N (for a weight gradient, K) means that samples are divided, and Outer
  /// that experts are; the axis divides nothing else.
  Loop divided = Loop::None;
  std::vector<ValueLayout> inputs;               ///< in the order of graph.inputs(kernel)
  ValueLayout output = ValueLayout::Replicated;  ///< for a weight gradient: of the gradient
  /// For backward attention, whose gradients may differ: the layouts of the values with the numbers
  /// 1, 2, ...
  std::vector<ValueLayout> parts{};

  friend bool operator==(const LayoutRule&, const LayoutRule&) = default;
};

/// The layout in which a tensor leaves a kernel that is divided by the rule.
ValueLayout produced_layout(const LayoutRule& rule, const Tensor& tensor);

/// An axis, and the properties beside the graph that its layouts depend on.
struct AxisRules {
  Axis axis = Axis::Tensor;
  std::int64_t chips = 1;           ///< at least 1
  bool replicated_weights = false;  ///< on the tensor axis a chip may have the whole of a weight
  /// Heads of queries, and of keys and values, that other axes have not divided: at least 1.
  /// Attention is divided by heads only if `chips` divides `heads` and also `kv_heads`; on the
  /// tensor axis, `chips` may also be a multiple of `kv_heads`.
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  /// The layouts of the value between layers, and of its gradient; not Partial.  If one is not
  /// given, it is chosen, provided that the graph has the kernel INPUT or GRADIENT.
  std::optional<ValueLayout> input = std::nullopt;
  std::optional<ValueLayout> gradient = std::nullopt;
};

/// All ways to divide a kernel of a graph of graph/workloads/llm/transformer_graph.hpp, in the
/// order in which equally good ones are preferred; at least one.  The lists of the kernels of one
/// weight, forward and backward, correspond: rules with the same index split the weight alike.
std::vector<LayoutRule> legal_rules(const DataflowGraph& graph, KernelId kernel,
                                    const AxisRules& axis);

enum class Exchange : std::uint8_t { AllGather, ReduceScatter, AllReduce, AllToAll };

/// `value` of a conversion of an output of the graph that no kernel of the graph reads.
inline constexpr std::size_t kNoValue = static_cast<std::size_t>(-1);

/// The change of a value to another layout, by a collective of all chips of the axis.
struct Conversion {
  std::size_t value = kNoValue;  ///< index into graph.values(); at an end of the graph, see below
  ValueLayout from = ValueLayout::Replicated;
  ValueLayout to = ValueLayout::Replicated;
  Exchange exchange = Exchange::AllGather;
  Phase phase = Phase::Forward;  ///< phase of the consumers
  double elements = 0.0;         ///< rows x columns of the whole value, of one sample
  KernelId producer{};
  /// The first consumer of the value that requires the conversion.  At an end of the graph, this is
  /// INPUT for the output of the layer and GRADIENT for its gradient, and `value` is the value of
  /// this kernel; if the kernel is missing, `consumer` is the producer.
  KernelId consumer{};

  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// Elements that each of `chips` chips sends for a value of the group.  On the expert axis, a group
/// has the samples of all its chips.
double sent_elements(const Conversion& conversion, std::int64_t chips);

/// A legal assignment of layouts on an axis.
struct AxisLayout {
  std::vector<LayoutRule> rules;      ///< per kernel
  std::vector<ValueLayout> produced;  ///< per value of graph.values()
  /// For each value, the layout in which it is kept for backward kernels.  If none reads the value,
  /// or if it is not a forward value, this is the layout in `produced`.
  std::vector<ValueLayout> kept;
  std::vector<Conversion> conversions;  ///< by phase and value, at an end of the graph last
};

/// Criteria in lexicographic order.
using LayoutCost = std::array<double, 3>;

/// The cost of an assignment is the sum of these functions over kernels, conversions, and forward
/// values that a backward kernel reads.  Costs are finite and at least 0; empty functions cost
/// nothing.
struct LayoutCosts {
  std::function<LayoutCost(KernelId, const LayoutRule&)> kernel;
  std::function<LayoutCost(const Conversion&)> conversion;
  std::function<LayoutCost(std::size_t value, ValueLayout)> kept;
};

/// The legal assignment of exactly the least cost.  Of equal assignments it is the first, as they
/// are compared kernel by kernel by the place of the rule in legal_rules().  Calls the functions of
/// `costs` on the calling thread.  Throws Stopped.
AxisLayout least_layout(const DataflowGraph& graph, const AxisRules& axis, const LayoutCosts& costs,
                        const Deadline& deadline = {});

struct FrontLayout {
  AxisLayout layout;
  LayoutCost cost{};
};

/// The legal assignments that no other one dominates, ascending in the first criterion.  An
/// assignment dominates another one if neither of its first two criteria is higher and one of the
/// two is lower.  Of assignments that are equal in both, only the first with the least third cost
/// is returned.  Conversions must cost nothing in the second criterion, and costs must be whole
/// numbers, so that sums are exact.  Throws Stopped.
std::vector<FrontLayout> layout_front(const DataflowGraph& graph, const AxisRules& axis,
                                      const LayoutCosts& costs, const Deadline& deadline = {});

/// Criteria: elements that each chip sends, then the number of collectives, then elements that each
/// chip keeps.  On n chips, sent elements are counted in units of (n-1)/n^2 and kept ones in units
/// of 1/n: counts are then whole numbers, and ties are exact.  The functions copy the parts of the
/// graph that they need.
LayoutCosts least_sent(const DataflowGraph& graph, const AxisRules& axis);
/// Criteria: elements that each chip keeps, then elements sent, then the number of collectives.
LayoutCosts least_kept(const DataflowGraph& graph, const AxisRules& axis);

/// Criteria for fronts: elements that each chip sends, elements that it keeps, and elements that
/// its kernels read and write.
LayoutCosts sent_and_kept(const DataflowGraph& graph, const AxisRules& axis);

}  // namespace dfsearch::training
