// A module is the shortest list of layers whose repetitions give the prediction layers of the model
// family.  Matrices and elements beside these layers go into a further block of its first layer.

#include "graph/workloads/blocks/prediction_layers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch {
namespace {

std::vector<LayerKind> module_of(const ModelShape& shape) {
  const Stack& all = shape.prediction;
  const Stack& text = shape.stacks.front();
  if (all.layers.empty()) return {text.kinds[text.layers.back()]};
  const std::size_t count = all.layers.size();
  std::size_t period = 1;
  const auto repeats = [&] {
    return count % period == 0 &&
           std::equal(all.layers.begin() + static_cast<std::ptrdiff_t>(period), all.layers.end(),
                      all.layers.begin());
  };
  while (!repeats()) ++period;
  std::vector<LayerKind> module;
  for (std::size_t i = 0; i < period; ++i) module.push_back(all.kinds[all.layers[i]]);
  Block beside{.kind = BlockKind::Extra};
  const auto linears = static_cast<std::ptrdiff_t>(all.linears.size() * period / count);
  beside.linears.assign(all.linears.begin(), all.linears.begin() + linears);
  const std::size_t modules = count / period;
  beside.extra = static_cast<std::int64_t>(all.vectors / static_cast<double>(modules));
  module.front().blocks.push_back(std::move(beside));
  return module;
}

void append(const std::vector<LayerKind>& module, Stack& stack) {
  for (const LayerKind& layer : module) {
    auto kind = std::find(stack.kinds.begin(), stack.kinds.end(), layer);
    if (kind == stack.kinds.end()) kind = stack.kinds.insert(kind, layer);
    stack.layers.push_back(static_cast<std::uint16_t>(kind - stack.kinds.begin()));
  }
}

}  // namespace

void add_prediction_layers(Transformer& model, std::int64_t modules) {
  if (!model.mixed || modules == 0) {
    model.layers += modules;
    return;
  }
  const Stack& known = model.mixed->shape.stacks.front();
  // If the model with these modules is not supported, as with too many kinds of layers, layers like
  // its last one are appended instead.
  const std::vector<LayerKind> last = {known.kinds[known.layers.back()]};
  for (const std::vector<LayerKind>& module : {module_of(model.mixed->shape), last}) {
    ModelShape shape = model.mixed->shape;
    for (std::int64_t i = 0; i < modules; ++i) append(module, shape.stacks.front());
    const MixedModel longer = mixed_model_of(shape);
    if (!longer.model) continue;
    model.layers = longer.model->layers;
    model.mixed = longer.model->mixed;
    return;
  }
}

}  // namespace dfsearch
