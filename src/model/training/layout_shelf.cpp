#include "model/training/layout_shelf.hpp"

#include <algorithm>
#include <string_view>

#include "model/layer/shard.hpp"

namespace dfsearch::training {
namespace {

Axis axis_of(Role role) {
  if (role == Role::Tensor) return Axis::Tensor;
  return role == Role::Context ? Axis::Context : Axis::Expert;
}

ValueLayout output_of(const DataflowGraph& graph, const AxisLayout& layout, std::string_view name) {
  const auto& kernels = graph.kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const Kernel& kernel) { return kernel.name == name; });
  return layout.rules[static_cast<std::size_t>(found - kernels.begin())].output;
}

}  // namespace

const AxisLayout* LayoutShelf::find(const Key& key, const Deadline& deadline) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = found_.find(key);
    if (found != found_.end()) return found->second.get();
  }
  const DataflowGraph& graph = blocks_[key.part]->graph();
  AxisRules rules{.axis = axis_of(key.role),
                  .chips = key.chips,
                  .heads = ceil_div(task_.model.heads, key.tensor),
                  .kv_heads = ceil_div(task_.model.kv_heads, key.tensor)};
  const Part layer = blocks_[Part::Layer] ? Part::Layer : Part::ExpertLayer;
  if (key.part != layer) {
    // What the parts hand each other fits.
    Key of_layer = key;
    of_layer.part = layer;
    const AxisLayout& neighbour = *find(of_layer, deadline);
    const DataflowGraph& of_neighbour = blocks_[layer]->graph();
    rules.input = output_of(of_neighbour, neighbour, "INPUT");
    rules.gradient = output_of(of_neighbour, neighbour, "GRADIENT");
  }
  const LayoutCosts costs =
      key.order == TensorLayout::LeastKept ? least_kept(graph, rules) : least_sent(graph, rules);
  auto layout = std::make_unique<const AxisLayout>(least_layout(graph, rules, costs, deadline));
  const std::lock_guard lock(mutex_);
  // Whoever came first: both are the same.
  return found_.emplace(key, std::move(layout)).first->second.get();
}

BlockLayouts LayoutShelf::layouts(Part part, const Degrees& degrees, TensorLayout order,
                                  const Deadline& deadline) {
  BlockLayouts layouts;
  const std::int64_t tensor = degrees[Role::Tensor];
  if (tensor > 1) {
    layouts.tensor = find({part, Role::Tensor, tensor, order, 1}, deadline);
  }
  // These two axes have one layout that anyone would take.
  constexpr TensorLayout kOne = TensorLayout::LeastSent;
  if (degrees[Role::Context] > 1) {
    layouts.context = find({part, Role::Context, degrees[Role::Context], kOne, tensor}, deadline);
  }
  // What else there is has samples alone.
  if (degrees[Role::Expert] > 1 && part == Part::ExpertLayer) {
    layouts.expert = find({part, Role::Expert, degrees[Role::Expert], kOne, 1}, deadline);
  }
  return layouts;
}

Profiles LayoutShelf::profiles(const Degrees& degrees, TensorLayout order, std::int64_t micro_batch,
                               const Deadline& deadline) {
  Profiles profiles;
  for (const Part part : kParts) {
    if (!blocks_[part]) continue;
    profiles[static_cast<std::size_t>(part)] = profile(
        task_, *blocks_[part], layouts(part, degrees, order, deadline), degrees, micro_batch);
  }
  return profiles;
}

}  // namespace dfsearch::training
