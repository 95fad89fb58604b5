#pragma once
// The workload of one layer: an immutable directed acyclic multigraph of
// kernels and tensors.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/kernel.hpp"

namespace dfsearch {

/// The faults for which a list of kernels and a list of tensors make no graph.  Each message is the
/// name of a list and its fault.
class InvalidGraph : public InputError {
 public:
  enum class List : std::uint8_t { Kernels, Tensors };
  struct Fault {
    List list;         ///< the list with the fault
    std::string what;  ///< names the kernels concerned
  };

  explicit InvalidGraph(std::vector<Fault> faults);
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

/// The kernels and tensors of one layer.  Kernels keep the order of the given list, which decides
/// ties and the order of reports and of `style: kernel_by_kernel`.  The topological order is
/// separate.  A graph is immutable after construction, so any thread may read it.
class DataflowGraph {
 public:
  DataflowGraph() = default;

  /// `seams` are tensors between layers: from a kernel to a kernel of the next layer, or from a
  /// backward kernel to a kernel of the layer before.  Throws InvalidGraph for: no kernel; an empty
  /// or repeated name; a tensor that dangles, joins a kernel to itself, or leads from a backward to
  /// a forward kernel; an operand that the consumer does not have; a cycle; tensors of one value
  /// with different rows; the kind Attention without its extents, or these extents with another
  /// kind; a `weight_of` that is no kernel with a weight of its own; a `backward_of` that does not
  /// lead from a backward to a forward kernel; a seam between the phases.
  DataflowGraph(std::vector<Kernel> kernels, std::vector<Tensor> tensors,
                std::vector<Tensor> seams = {});

  [[nodiscard]] std::size_t kernel_count() const { return kernels_.size(); }
  [[nodiscard]] std::size_t tensor_count() const { return tensors_.size(); }
  [[nodiscard]] const std::vector<Kernel>& kernels() const { return kernels_; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Tensors between neighbouring layers, or between steps; they are not in `tensors`.
  [[nodiscard]] const std::vector<Tensor>& seams() const { return seams_; }
  [[nodiscard]] const Kernel& kernel(KernelId id) const { return kernels_[id.index()]; }
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors_[id.index()]; }

  /// The tensors a kernel consumes or produces, in the order of the list.
  [[nodiscard]] std::span<const TensorId> inputs(KernelId kernel) const;
  [[nodiscard]] std::span<const TensorId> outputs(KernelId kernel) const;

  /// Producers come before consumers.  Among kernels that are ready, the first in the list comes
  /// first, so a list in topological order stays as it is.
  [[nodiscard]] std::span<const KernelId> topological_order() const { return topological_order_; }

  /// Length of the longest path from a source, in tensors.
  /// docs/model.md (2)
  [[nodiscard]] std::int64_t level(KernelId kernel) const { return levels_[kernel.index()]; }
  /// Tiles of the tensor that are alive at once when both ends are fused: the
  /// difference of the levels of its ends plus one, at least 2.
  [[nodiscard]] std::int64_t buffer_depth(TensorId tensor) const;

  /// The tensors of each value, in the order of the first of each: an output that several kernels
  /// read is one value.
  [[nodiscard]] const std::vector<std::vector<TensorId>>& values() const { return values_; }
  /// Rows of the tensor: outer * M of its producer, or the rows of the part that it carries.
  [[nodiscard]] std::int64_t rows(TensorId tensor) const { return rows(this->tensor(tensor)); }
  [[nodiscard]] std::int64_t rows(const Tensor& tensor) const;

  [[nodiscard]] bool has_backward() const { return has_backward_; }
  /// The tensor within a step between a kernel with a weight and the other end of its seam to the
  /// next step; nothing without such a seam.  The two kernels alternate, so if this tensor crosses
  /// partitions, the weight is read again at each step.
  [[nodiscard]] std::optional<TensorId> turn(KernelId kernel) const {
    return turns_.empty() ? std::nullopt : turns_[kernel.index()];
  }
  /// The number of steps of all kernels except sums of gradients; 1 if these kernels differ.  Steps
  /// may follow each other from stage to stage.
  [[nodiscard]] std::int64_t wave_steps() const;
  /// FLOP of one layer for one sample.
  [[nodiscard]] Flops flops() const;

  friend bool operator==(const DataflowGraph& a, const DataflowGraph& b) {
    return a.kernels_ == b.kernels_ && a.tensors_ == b.tensors_ && a.seams_ == b.seams_;
  }

 private:
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> seams_;
  std::vector<KernelId> topological_order_;
  std::vector<std::int64_t> levels_;
  std::vector<std::vector<TensorId>> values_;
  std::vector<std::optional<TensorId>> turns_;  // by kernel; empty: no kernel takes turns
  // Compressed adjacency: the inputs of kernel k are
  // input_tensors_[input_begin_[k] .. input_begin_[k + 1]).
  std::vector<TensorId> input_tensors_;
  std::vector<TensorId> output_tensors_;
  std::vector<std::uint32_t> input_begin_;
  std::vector<std::uint32_t> output_begin_;
  bool has_backward_ = false;
};

/// The rows of a tensor that a chip needs for its part of the rows of the consumer.
enum class RowUse : std::uint8_t {
  Same,    ///< the same part
  All,     ///< all rows: every head, or every row, reads them
  Summed,  ///< rows of all groups of the producer, such as experts, which are added up
};

/// `tensor` is one of the graph, or a seam.
RowUse row_use(const DataflowGraph& graph, const Tensor& tensor);

/// Number of heads of the tensor: fewer than `outer` of its consumer if several heads of queries
/// share keys and values.
std::int64_t shared_heads(const DataflowGraph& graph, const Tensor& tensor);

/// The fault in the shapes of all tensors that a kernel reads as one operand, if `tensor` is the
/// first of these; nothing if the shapes agree, or if `tensor` is a later one.
std::optional<std::string> wrong_shape(const DataflowGraph& graph, TensorId tensor);
bool has_wrong_shape(const DataflowGraph& graph);

}  // namespace dfsearch
