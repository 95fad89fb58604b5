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
  Tensor,   ///< weights, and tokens where no weight is concerned
  Context,  ///< the tokens of a sample; every chip has all weights
  Expert,   ///< samples, and of the weights the experts
};

enum class ValueLayout : std::uint8_t {
  Replicated,  ///< every chip has all of it
  Features,    ///< split by rows; values with heads by whole heads
  Tokens,      ///< split by columns; on the expert axis by samples
  Experts,     ///< the rows of an expert are on the chip that has the expert
  Partial,     ///< every chip has a summand of the size of the whole
};
inline constexpr std::size_t kLayouts = 5;

/// One way to divide a kernel: its loop, and how values then arrive and leave.
struct LayoutRule {
  /// On the expert axis N (of a weight gradient K) stands for samples: nothing of a single
  /// sample is divided there but the experts, by Outer.
  Loop divided = Loop::None;
  std::vector<ValueLayout> inputs;               ///< in the order of graph.inputs(kernel)
  ValueLayout output = ValueLayout::Replicated;  ///< of a weight gradient: of the gradient
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
  /// Heads of queries, and of keys and values, that are left to divide: at least 1.  Attention
  /// is divided by heads only if `chips` divides `heads`, and on the tensor axis `kv_heads` or
  /// is a multiple of it, on the context axis `kv_heads` as well.
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  /// The layouts of the value between layers, and of its gradient; not Partial.  Nothing:
  /// chosen, where the graph has the kernel INPUT or GRADIENT.
  std::optional<ValueLayout> input = std::nullopt;
  std::optional<ValueLayout> gradient = std::nullopt;
};

/// All ways to divide a kernel of a graph of graph/workloads/llm/transformer_graph.hpp, in the
/// order in which equally good ones are preferred; at least one.  Those of the kernels of one
/// weight, forward and backward, stand side by side: rules of the same place in their lists
/// split the weight alike.
std::vector<LayoutRule> legal_rules(const DataflowGraph& graph, KernelId kernel,
                                    const AxisRules& axis);

enum class Exchange : std::uint8_t { AllGather, ReduceScatter, AllReduce, AllToAll };

/// `value` of a conversion for an output of the graph that no kernel of it reads.
inline constexpr std::size_t kNoValue = static_cast<std::size_t>(-1);

/// The change of a value to another layout, by a collective of all chips of the axis.
struct Conversion {
  std::size_t value = kNoValue;  ///< index into graph.values(); at an end of the graph, see below
  ValueLayout from = ValueLayout::Replicated;
  ValueLayout to = ValueLayout::Replicated;
  Exchange exchange = Exchange::AllGather;
  Phase phase = Phase::Forward;  ///< of the consumers
  double elements = 0.0;         ///< rows x columns of the whole value, of one sample
  KernelId producer{};
  /// The first in the list that requires it.  At the ends of the graph this is INPUT for the output
  /// of the layer and GRADIENT for its gradient, and `value` is theirs; without these kernels it is
  /// the producer.
  KernelId consumer{};

  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// Elements that each of `chips` chips sends.  On the expert axis the group has the samples of
/// all its chips: times these.
double sent_elements(const Conversion& conversion, std::int64_t chips);

/// A legal assignment.
struct AxisLayout {
  std::vector<LayoutRule> rules;      ///< per kernel
  std::vector<ValueLayout> produced;  ///< per value of graph.values()
  /// Per value: how backward kernels find a forward value that they read; of others as produced.
  std::vector<ValueLayout> kept;
  std::vector<Conversion> conversions;  ///< by phase and value, those at an end of the graph last
};

/// Compared one after the other.
using LayoutCost = std::array<double, 3>;

/// The cost of an assignment: the sum over kernels, conversions, and forward values that a backward
/// kernel reads.  Finite, at least 0; empty functions cost nothing.
struct LayoutCosts {
  std::function<LayoutCost(KernelId, const LayoutRule&)> kernel;
  std::function<LayoutCost(const Conversion&)> conversion;
  std::function<LayoutCost(std::size_t value, ValueLayout)> kept;
};

/// The legal assignment of least cost, exactly; of equal ones the first by the rules of the
/// kernels in the order of the list.  Calls the functions of `costs` on the calling thread.
/// Throws Stopped.
AxisLayout least_layout(const DataflowGraph& graph, const AxisRules& axis, const LayoutCosts& costs,
                        const Deadline& deadline = {});

struct FrontLayout {
  AxisLayout layout;
  LayoutCost cost{};
};

/// The legal assignments that no other dominates in the first two criteria: no other one is at most
/// as high in both and less in one.  Equal ones appear once, with the least third cost, ties go to
/// the first; ascending in the first criterion.  Conversions cost nothing in the second.  Sums are
/// exact, as sums of whole numbers are.  Throws Stopped.
std::vector<FrontLayout> layout_front(const DataflowGraph& graph, const AxisRules& axis,
                                      const LayoutCosts& costs, const Deadline& deadline = {});

/// Elements that each chip sends, then the number of collectives, then elements kept by each chip.
/// Elements are counted in units that make them whole, (n-1)/n^2 for sent ones and 1/n for kept
/// ones on n chips, so that ties are exact.  The functions copy the parts of the graph that they
/// need.
LayoutCosts least_sent(const DataflowGraph& graph, const AxisRules& axis);
/// Elements kept by each chip, then elements sent, then the number of collectives.
LayoutCosts least_kept(const DataflowGraph& graph, const AxisRules& axis);

/// For fronts: elements that each chip sends, then those kept by each chip, then those that its
/// kernels read and write.
LayoutCosts sent_and_kept(const DataflowGraph& graph, const AxisRules& axis);

}  // namespace dfsearch::training
