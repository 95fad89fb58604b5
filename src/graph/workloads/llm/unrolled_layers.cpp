// Layers joined at their seams.
//
// What a layer hands the next one (DataflowGraph::seams) is a tensor between two layers of the
// graph, and between the graph and the next one where it leaves the last layer of its pass.

#include "graph/workloads/llm/unrolled_layers.hpp"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dfsearch {
namespace {

class Unrolling {
 public:
  explicit Unrolling(const std::vector<const DataflowGraph*>& layers)
      : graphs_(layers), layer_(*layers.front()), layers_(std::ssize(layers)) {}

  DataflowGraph run() {
    places_.resize(static_cast<std::size_t>(layers_) * layer_.kernel_count());
    for (std::int64_t i = 0; i < layers_; ++i) add_kernels(i, Phase::Forward);
    for (std::int64_t i = layers_; i-- > 0;) add_kernels(i, Phase::Backward);
    for (std::int64_t i = 0; i < layers_; ++i) refer_to_kernels(i);
    for (std::int64_t i = 0; i < layers_; ++i) {
      for (const Tensor& tensor : graph(i).tensors()) tensors_.push_back(between(tensor, i, i));
      for (const Tensor& seam : layer_.seams()) add_seam(seam, i);
    }
    return {std::move(kernels_), std::move(tensors_), std::move(seams_)};
  }

 private:
  [[nodiscard]] const DataflowGraph& graph(std::int64_t layer) const {
    return *graphs_[static_cast<std::size_t>(layer)];
  }

  /// The place of a kernel of `layer` among all.
  std::size_t& place(std::int64_t layer, std::size_t kernel) {
    return places_[static_cast<std::size_t>(layer) * layer_.kernel_count() + kernel];
  }

  void add_kernels(std::int64_t layer, Phase phase) {
    for (std::size_t k = 0; k < layer_.kernel_count(); ++k) {
      const Kernel& kernel = graph(layer).kernels()[k];
      if (kernel.phase != phase) continue;
      place(layer, k) = kernels_.size();
      kernels_.push_back(kernel);
      kernels_.back().name = "L" + std::to_string(layer + 1) + "." + kernel.name;
    }
  }

  void refer_to_kernels(std::int64_t layer) {
    for (std::size_t k = 0; k < layer_.kernel_count(); ++k) {
      for (const auto member : {&Kernel::weight_of, &Kernel::backward_of}) {
        const std::optional<KernelId> other = layer_.kernels()[k].*member;
        if (other) kernels_[place(layer, k)].*member = KernelId(place(layer, other->index()));
      }
    }
  }

  Tensor between(Tensor tensor, std::int64_t from, std::int64_t to) {
    tensor.from = KernelId(place(from, tensor.from.index()));
    tensor.to = KernelId(place(to, tensor.to.index()));
    return tensor;
  }

  /// Forward from each layer to the next one, backward to the one before.
  void add_seam(const Tensor& seam, std::int64_t layer) {
    if (seam.next_step) {
      seams_.push_back(between(seam, layer, layer));
      return;
    }
    const bool is_last = layer + 1 == layers_;
    const std::int64_t next = is_last ? 0 : layer + 1;
    const bool forward = layer_.kernel(seam.from).phase == Phase::Forward;
    (is_last ? seams_ : tensors_)
        .push_back(forward ? between(seam, layer, next) : between(seam, next, layer));
  }

  const std::vector<const DataflowGraph*>& graphs_;
  const DataflowGraph& layer_;  // has the kernels, phases and seams of all
  const std::int64_t layers_;
  std::vector<std::size_t> places_;  // by layer and kernel
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> seams_;
};

}  // namespace

DataflowGraph unrolled_layers(const std::vector<const DataflowGraph*>& layers) {
  if (layers.size() == 1) return *layers.front();
  return Unrolling(layers).run();
}

}  // namespace dfsearch
