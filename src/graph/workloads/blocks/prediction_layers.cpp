// The module is the shortest list whose repetitions are the layers that the family has for all of
// its modules; what is beside these layers goes into a further block of its first one.

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
  // A model of the most kinds has no room for a further one.
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
