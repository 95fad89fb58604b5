#pragma once
// The parts that the stages of a pipeline are made of, as graphs: a layer, a layer with experts,
// and the ends of the first and the last stage beside their layers.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "graph/workloads/blocks/form_counts.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

enum class Part : std::uint8_t {
  Layer,       ///< a layer without experts or, if layers alternate, with the window
  OtherLayer,  ///< a layer with experts or, if layers alternate, without the window
  First,       ///< the embedding
  Last,        ///< norm, head and loss
};
inline constexpr std::array kParts = {Part::Layer, Part::OtherLayer, Part::First, Part::Last};

/// A graph with its backward kernels, and its properties that do not depend on the plan.
/// Immutable.
class Block {
 public:
  Block(Part part, DataflowGraph graph);

  /// A value of the graph.
  struct Value {
    KernelId producer;
    std::int64_t heads = 1;  ///< groups of rows that are divided as wholes
    std::int64_t rows = 1;   ///< rows of a head
    std::int64_t columns = 1;
    bool is_kept = false;   ///< backward kernels read this output of a forward kernel
    bool is_score = false;  ///< computed again by selective recomputation
    bool is_input = false;  ///< input of the block, from which full recomputation starts
  };
  enum class Pass : std::uint8_t {
    None,  ///< a source, which stands for another block
    Forward,
    InputGradient,
    WeightGradient,
  };

  [[nodiscard]] Part part() const { return part_; }
  [[nodiscard]] const DataflowGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  /// Index into `values` of the value that a tensor carries.
  [[nodiscard]] std::size_t value_of(TensorId tensor) const { return value_of_[tensor.index()]; }
  /// The values that a kernel computes, as indices.
  [[nodiscard]] const std::vector<std::size_t>& computed(KernelId kernel) const {
    return computed_[kernel.index()];
  }
  [[nodiscard]] Pass pass(KernelId kernel) const { return passes_[kernel.index()]; }
  /// Whether selective recomputation runs a forward kernel again.
  [[nodiscard]] bool is_scoring(KernelId kernel) const { return scoring_[kernel.index()]; }
  /// Whether each of `outer` products has an input of its own, as experts have.
  [[nodiscard]] bool is_grouped(KernelId kernel) const { return grouped_[kernel.index()]; }

 private:
  void find_values();
  void find_scoring();

  Part part_;
  DataflowGraph graph_;
  std::vector<Value> values_;
  std::vector<std::size_t> value_of_;
  std::vector<std::vector<std::size_t>> computed_;
  std::vector<Pass> passes_;
  std::vector<bool> scoring_;
  std::vector<bool> grouped_;
};

/// The layers of a stage, and the ends of the model that it has.
struct StageContent {
  std::int64_t layers = 0;  ///< Part::Layer
  std::int64_t other_layers = 0;
  bool first = false;
  bool last = false;
  /// Layers of the third kind and of later ones.
  std::array<std::int64_t, kMostForms - 2> further{};

  [[nodiscard]] std::int64_t all_layers() const {
    return std::accumulate(further.begin(), further.end(), layers + other_layers);
  }
  /// The number of layers of a kind; kinds are counted from 0.
  [[nodiscard]] std::int64_t& of_kind(std::size_t kind) {
    return kind == 0 ? layers : kind == 1 ? other_layers : further[kind - 2];
  }
  [[nodiscard]] std::int64_t of_kind(std::size_t kind) const {
    return kind == 0 ? layers : kind == 1 ? other_layers : further[kind - 2];
  }
  StageContent& operator+=(const StageContent& more) {
    for (std::size_t kind = 0; kind < kMostForms; ++kind) of_kind(kind) += more.of_kind(kind);
    return *this;
  }
  friend auto operator<=>(const StageContent&, const StageContent&) = default;
};

/// The order of the layers of the two kinds in a model.
struct LayerOrder {
  std::int64_t layers = 0;  ///< Part::Layer
  std::int64_t other_layers = 0;
  std::int64_t every = 0;  ///< n: every n-th layer is of the other kind; 0: other layers come last
  /// The kind of each layer in a model of several kinds; `layers` then counts all layers.
  const MixedLayers* mixed = nullptr;

  [[nodiscard]] std::int64_t all() const { return layers + other_layers; }
  /// The number of kinds of layers.
  [[nodiscard]] std::size_t kinds() const;
  [[nodiscard]] std::int64_t of_kind(std::size_t kind) const;
  /// The kind of all layers; nothing if there are several kinds.
  [[nodiscard]] std::optional<std::size_t> only_kind() const {
    std::optional<std::size_t> only;
    for (std::size_t kind = 0; kind < kinds(); ++kind) {
      if (of_kind(kind) == 0) continue;
      if (only) return std::nullopt;
      only = kind;
    }
    return only;
  }
  /// Content of the layers in [begin, end), without ends of the model.
  [[nodiscard]] StageContent content(std::int64_t begin, std::int64_t end) const {
    if (mixed) return mixed_content(begin, end);
    const std::int64_t count = end - begin;
    const std::int64_t plain = every > 0 ? count - (end / every - begin / every)
                                         : std::clamp<std::int64_t>(layers - begin, 0, count);
    return {.layers = plain, .other_layers = count - plain};
  }

 private:
  [[nodiscard]] StageContent mixed_content(std::int64_t begin, std::int64_t end) const;
};

/// In models without alternation, layers with experts are the other kind.  Refers to the model.
LayerOrder layer_order(const Transformer& model);

/// The parts that a task has, by Part.
struct Blocks {
  std::array<std::optional<Block>, kParts.size()> parts;
  LayerOrder order;

  [[nodiscard]] const std::optional<Block>& operator[](Part part) const {
    return parts[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] std::int64_t layers() const { return order.all(); }
};

/// For a model of several kinds, only the order is set, without graphs.
Blocks blocks_of(const Task& task);

}  // namespace dfsearch::training
