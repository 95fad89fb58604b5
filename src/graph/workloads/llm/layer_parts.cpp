// The second half of a layer, and the kernels that both halves and the ends are made of.

#include "graph/workloads/llm/layer_parts.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {

// FLOP of an element, forward and backward; these are no FLOP of the model (docs/transformers.md,
// section 2, has the sources).
namespace {
struct ElementFlops {
  std::int64_t forward, backward;
};
constexpr ElementFlops kRmsNorm{.forward = 4, .backward = 10};
constexpr ElementFlops kLayerNorm{.forward = 9, .backward = 21};
constexpr ElementFlops kGelu{.forward = 8, .backward = 13};
constexpr ElementFlops kGatedActivation{.forward = 5, .backward = 9};
constexpr ElementFlops kTopK{.forward = 5, .backward = 8};
constexpr double kMaskBits = 8.0;
}  // namespace

Kernel LayerWriter::elementwise(const std::string& name, std::int64_t outer, std::int64_t m,
                                std::int64_t flops) const {
  return {.name = name,
          .tiled = tiled(),
          .outer = outer,
          .m = m,
          .n = tokens(),
          .element_flops = flops};
}

std::int64_t LayerWriter::rows_of_bits(std::int64_t elements, double bits) const {
  const double words = bits / (8.0 * pass_.word.in_base_units());
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(static_cast<double>(elements) * words)), 1);
}

LayerWriter::ValueId LayerWriter::source(const std::string& name, std::int64_t rows) {
  return graph_.add({.kernel = elementwise(name, 1, rows, 1),
                     .inputs = {},
                     .gradient = ValueGraph::Gradient::None});
}

LayerWriter::ValueId LayerWriter::norm(const std::string& name, std::int64_t heads,
                                       std::int64_t width, ValueId of) {
  const bool rms = model_.norm == Norm::Rms;
  const ElementFlops flops = rms ? kRmsNorm : kLayerNorm;
  Kernel kernel = elementwise(name, heads, width, flops.forward);
  kernel.parameters = model_.norm_parameters(width);  // heads share the weights
  kernel.coupled = rms ? 1 : 2;                       // the mean square, or mean and variance
  return graph_.add({.kernel = kernel,
                     .inputs = {{.value = of}},
                     .saved = {of},
                     .backward_flops = flops.backward,
                     .backward_coupled = kernel.coupled});
}

LayerWriter::ValueId LayerWriter::weight_gemm(const std::string& name, std::int64_t outer,
                                              std::int64_t m, std::int64_t k, ValueId of,
                                              std::int64_t biases) {
  const Kernel kernel{.name = name,
                      .kind = KernelKind::WeightGemm,
                      .mode = Mode::Systolic,
                      .tiled = tiled(),
                      .outer = outer,
                      .m = m,
                      .k = k,
                      .n = tokens(),
                      .parameters = biases};
  return graph_.add(
      {.kernel = kernel, .inputs = {{.value = of}}, .gradient = ValueGraph::Gradient::Product});
}

LayerWriter::ValueId LayerWriter::sum(const std::string& name, const std::vector<ValueId>& values) {
  Kernel kernel = elementwise(name, 1, graph_.rows(values.front()), 1);
  kernel.kind = KernelKind::Elementwise2;
  kernel.element_flops = static_cast<std::int64_t>(values.size()) - 1;
  ValueGraph::Node node{.kernel = kernel, .inputs = {}, .gradient = ValueGraph::Gradient::Pass};
  for (const ValueId v : values) {
    node.inputs.push_back({.value = v, .operand = node.inputs.empty() ? 1 : 2});
  }
  return graph_.add(std::move(node));
}

LayerWriter::ValueId LayerWriter::dropout(const std::string& name, std::int64_t heads, ValueId of) {
  const std::int64_t rows = graph_.rows(of);
  const ValueId out =
      graph_.add({.kernel = elementwise(name, heads, rows / heads, 1), .inputs = {{.value = of}}});
  graph_.save(out, graph_.part(out, rows_of_bits(rows, kMaskBits)));
  return out;
}

LayerWriter::ValueId LayerWriter::gated(const std::string& name, ValueId of, ValueId gate) {
  Kernel kernel = elementwise(name, 1, graph_.rows(of), kGatedActivation.forward);
  kernel.kind = KernelKind::Elementwise2;
  return graph_.add({.kernel = kernel,
                     .inputs = {{.value = of}, {.value = gate, .operand = 2}},
                     .saved = {of, gate},
                     .backward_flops = kGatedActivation.backward});
}

LayerWriter::ValueId LayerWriter::mlp(const std::string& prefix, std::int64_t width, bool bias,
                                      ValueId normed) {
  const std::int64_t h = model_.hidden;
  std::vector<ValueId> wide;
  if (model_.gated) {
    wide.push_back(weight_gemm(prefix + "GATE", 1, width, h, normed, bias ? width : 0));
  }
  wide.push_back(weight_gemm(prefix + "UP", 1, width, h, normed, bias ? width : 0));
  return weight_gemm(prefix + "DOWN", 1, h, width,
                     activation(elementwise(prefix + "ACT", 1, width, 0), wide), bias ? h : 0);
}

LayerWriter::ValueId LayerWriter::activation(Kernel kernel, const std::vector<ValueId>& wide) {
  const ElementFlops flops = model_.gated ? kGatedActivation : kGelu;
  kernel.element_flops = flops.forward;
  if (model_.gated) kernel.kind = KernelKind::Elementwise2;
  ValueGraph::Node act{
      .kernel = std::move(kernel), .inputs = {}, .saved = wide, .backward_flops = flops.backward};
  for (const ValueId v : wide) {
    act.inputs.push_back({.value = v, .operand = act.inputs.empty() ? 1 : 2});
  }
  return graph_.add(std::move(act));
}

// Each expert gets the same number of tokens.  If the tokens do not divide evenly, or a capacity
// factor leaves room, some rows are empty and count as no work of the model.
Kernel LayerWriter::of_experts(Kernel kernel) const {
  const Experts& shape = *model_.experts;
  const std::int64_t routed = tokens() * shape.used;
  kernel.outer = std::min(shape.count, routed);
  kernel.n = static_cast<std::int64_t>(std::ceil(
      static_cast<double>(routed) * shape.capacity_factor / static_cast<double>(kernel.outer)));
  if (!kernel.has_weight()) return kernel;
  if (kernel.outer != shape.count) kernel.matrices = shape.count;
  if (kernel.outer * kernel.n != routed) kernel.tokens = routed;
  return kernel;
}

LayerWriter::ValueId LayerWriter::expert_gemm(const std::string& name, std::int64_t m,
                                              std::int64_t k, ValueId of, std::int64_t vectors) {
  const Kernel kernel{.name = name,
                      .kind = KernelKind::WeightGemm,
                      .mode = Mode::Systolic,
                      .tiled = tiled(),
                      .m = m,
                      .k = k,
                      .parameters = vectors * model_.experts->count};
  return graph_.add({.kernel = of_experts(kernel),
                     .inputs = {{.value = of}},
                     .gradient = ValueGraph::Gradient::Product,
                     .own_inputs = true});
}

LayerWriter::ValueId LayerWriter::expert_mlps(ValueId sent) {
  const Experts& shape = *model_.experts;
  const std::int64_t h = expert_width();
  std::vector<ValueId> wide;
  if (model_.gated) wide.push_back(expert_gemm("EXPERT_GATE", shape.mlp, h, sent));
  wide.push_back(expert_gemm("EXPERT_UP", shape.mlp, h, sent));
  const Kernel act = of_experts(elementwise("EXPERT_ACT", 1, shape.mlp, 0));
  return expert_gemm("EXPERT_DOWN", h, shape.mlp, activation(act, wide), shape.vectors);
}

std::vector<LayerWriter::ValueId> LayerWriter::experts(ValueId normed) {
  const Experts& shape = *model_.experts;
  const std::int64_t h = expert_width();
  const ValueId logits = graph_.part(weight_gemm("ROUTER", 1, shape.count, model_.hidden, normed,
                                                 shape.router_bias ? shape.count : 0),
                                     rows_of_bits(shape.count, kLogitBits));
  Kernel choose = elementwise("TOPK", 1, shape.count, kTopK.forward);
  choose.coupled = rows_of_bits(shape.used, kLogitBits);  // candidates for the k largest
  const ValueId top = graph_.add({.kernel = choose,
                                  .inputs = {{.value = logits}},
                                  .saved = {logits},
                                  .backward_flops = kTopK.backward});
  const ValueId choice = graph_.part(top, shape.used);
  const bool has_latents = shape.latent > 0;
  const ValueId given =
      has_latents ? weight_gemm("LATENT_IN", 1, h, model_.hidden, normed) : normed;
  // DISPATCH and COMBINE are backward kernels of each other.
  const ValueId sent = graph_.add(
      {.kernel = of_experts(elementwise("DISPATCH", 1, h, 1)),
       .inputs = {{.value = given}, {.value = choice, .operand = 2, .has_gradient = false}},
       .saved = {choice},
       .reversed = elementwise("", 1, h, 1),
       .backward_flops = shape.used});
  const ValueId done = expert_mlps(sent);
  // Forward, a row is multiplied with its weight and added; backward, it is also multiplied with
  // its gradient.
  Kernel combine = elementwise("COMBINE", 1, h, 2 * shape.used);
  combine.kind = KernelKind::Elementwise2;
  std::vector<ValueId> sums{
      graph_.add({.kernel = combine,
                  .inputs = {{.value = done}, {.value = choice, .operand = 2}},
                  .saved = {choice},
                  .reversed = of_experts(elementwise("", 1, h, 1)),
                  .backward_flops = 3})};
  if (has_latents) sums[0] = weight_gemm("LATENT_OUT", 1, model_.hidden, h, sums[0]);
  if (shape.shared > 0) {
    sums.push_back(mlp("SHARED_", shape.shared * shape.mlp, false, normed));
  }
  return sums;
}

}  // namespace dfsearch
