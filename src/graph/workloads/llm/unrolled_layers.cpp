// Layers joined at their seams.
//
// In a layer by rule INPUT stands for the sum at the end of the layer before and GRADIENT for the
// gradient that the layer behind hands back: where there is such a layer they are left out, and
// their consumers read the real thing.  A published layer has a kernel that takes the
// output of the layer before, and one that takes the gradient; the gradients of queries, keys and
// values, which meet there, are its inputs.  (The published layer knows no gradients of
// residual sums, so none is handed back.)

#include "graph/workloads/llm/unrolled_layers.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dfsearch {
namespace {

/// What a layer hands to a neighbour.
struct Seam {
  std::string_view from;
  std::string_view to;  ///< kernel of the neighbour
  bool stands_in;       ///< it only stands for what is handed over
};

constexpr Seam kForward[] = {{"Add_2", "Add_Prev_Layer", false}, {"ADD_2", "INPUT", true}};
constexpr Seam kBackward[] = {{"V_bwd", "Loss_bwd", false},
                              {"Q_bwd", "Loss_bwd", false},
                              {"K_bwd", "Loss_bwd", false},
                              {"INPUT_sum", "GRADIENT", true}};

class Unrolling {
 public:
  Unrolling(const DataflowGraph& layer, std::int64_t layers) : layer_(layer), layers_(layers) {}

  DataflowGraph run() {
    places_.resize(static_cast<std::size_t>(layers_) * layer_.kernel_count());
    for (std::int64_t i = 0; i < layers_; ++i) add_kernels(i, Phase::Forward);
    for (std::int64_t i = layers_; i-- > 0;) add_kernels(i, Phase::Backward);
    for (std::int64_t i = 0; i < layers_; ++i) refer_to_weights(i);
    for (std::int64_t i = 0; i < layers_; ++i) add_tensors(i);
    return {std::move(kernels_), std::move(tensors_)};
  }

 private:
  /// A kernel of the layer by its name, if the layer has one.
  [[nodiscard]] std::optional<std::size_t> named(std::string_view name) const {
    const auto& kernels = layer_.kernels();
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const Kernel& kernel) { return kernel.name == name; });
    if (found == kernels.end()) return std::nullopt;
    return static_cast<std::size_t>(found - kernels.begin());
  }

  /// The place of a kernel among all, in `layer`; of one that is left out that of what it stands for.
  std::optional<std::size_t>& place(std::int64_t layer, std::size_t kernel) {
    return places_[static_cast<std::size_t>(layer) * layer_.kernel_count() + kernel];
  }

  void add_kernels(std::int64_t layer, Phase phase) {
    for (std::size_t k = 0; k < layer_.kernel_count(); ++k) {
      const Kernel& kernel = layer_.kernels()[k];
      if (kernel.phase != phase) continue;
      if (const auto other = stands_for(layer, kernel)) {
        place(layer, k) = other;
        continue;
      }
      place(layer, k) = kernels_.size();
      kernels_.push_back(kernel);
      kernels_.back().name = "L" + std::to_string(layer + 1) + "." + kernel.name;
    }
  }

  /// The place of what the kernel stands for, if that is in the graph.
  std::optional<std::size_t> stands_for(std::int64_t layer, const Kernel& kernel) {
    const bool forward = kernel.phase == Phase::Forward;
    const std::int64_t neighbour = forward ? layer - 1 : layer + 1;
    if (neighbour < 0 || neighbour >= layers_) return std::nullopt;
    const auto find = [&](const auto& seams) -> std::optional<std::size_t> {
      for (const Seam& seam : seams) {
        const auto from = named(seam.from);
        if (seam.stands_in && kernel.name == seam.to && from) return place(neighbour, *from);
      }
      return std::nullopt;
    };
    return forward ? find(kForward) : find(kBackward);
  }

  void refer_to_weights(std::int64_t layer) {
    for (std::size_t k = 0; k < layer_.kernel_count(); ++k) {
      const std::optional<KernelId> weight = layer_.kernels()[k].weight_of;
      if (weight) kernels_[*place(layer, k)].weight_of = KernelId(*place(layer, weight->index()));
    }
  }

  void add_tensors(std::int64_t layer) {
    for (Tensor tensor : layer_.tensors()) {
      tensor.from = KernelId(*place(layer, tensor.from.index()));
      tensor.to = KernelId(*place(layer, tensor.to.index()));
      tensors_.push_back(tensor);
    }
    if (layer + 1 == layers_) return;
    for (const Seam& seam : kForward) join(seam, layer, layer + 1);
    for (const Seam& seam : kBackward) join(seam, layer + 1, layer);
  }

  void join(const Seam& seam, std::int64_t from_layer, std::int64_t to_layer) {
    const auto from = named(seam.from);
    const auto to = named(seam.to);
    if (seam.stands_in || !from || !to) return;
    const KernelId consumer(*place(to_layer, *to));
    const bool is_first = std::none_of(tensors_.begin(), tensors_.end(),
                                       [&](const Tensor& tensor) { return tensor.to == consumer; });
    tensors_.push_back(
        {.from = KernelId(*place(from_layer, *from)), .to = consumer, .operand = is_first ? 1 : 2});
  }

  const DataflowGraph& layer_;
  const std::int64_t layers_;
  std::vector<std::optional<std::size_t>> places_;  // by layer and kernel
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
};

}  // namespace

DataflowGraph unrolled_layers(const DataflowGraph& layer, std::int64_t layers) {
  if (layers == 1) return layer;
  return Unrolling(layer, layers).run();
}

}  // namespace dfsearch
