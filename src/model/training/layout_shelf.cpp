#include "model/training/layout_shelf.hpp"

#include <algorithm>
#include <string_view>

#include "model/layer/shard.hpp"

// Values between layers have one layout: one kind of layer chooses it, and the other kind and the
// ends of the model take it.  The layouts with a name are chosen by the layers that come first, the
// layouts of the front by the kind with more layers.

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

/// Most members of a front after thinning; plans try all members, so long fronts are thinned.
constexpr std::size_t kThinned = 8;

bool is_layer(Part part) { return part == Part::Layer || part == Part::OtherLayer; }

/// Divides the front into runs whose members send at most `more` times the bytes of the first
/// member of the run.  Returns the last member of each run, which keeps least.
std::vector<FrontLayout> thinned(const std::vector<FrontLayout>& front, double more) {
  std::vector<FrontLayout> left;
  for (std::size_t i = 0; i < front.size();) {
    const double most = front[i].cost[0] * more;
    while (i + 1 < front.size() && front[i + 1].cost[0] <= most) ++i;
    left.push_back(front[i++]);
  }
  return left;
}

}  // namespace

LayoutShelf::LayoutShelf(const Task& task, const Blocks& blocks)
    : task_(task),
      blocks_(blocks),
      first_layers_(blocks[Part::Layer] ? Part::Layer : Part::OtherLayer),
      most_layers_(task.model.alternates() || blocks.order.layers >= blocks.order.other_layers
                       ? Part::Layer
                       : Part::OtherLayer),
      expert_layers_(task.model.alternates() ? Part::Layer : Part::OtherLayer) {}

AxisRules LayoutShelf::rules_of(const Key& key) const {
  return {.axis = axis_of(key.role),
          .chips = key.chips,
          .heads = ceil_div(task_.model.heads, key.tensor),
          .kv_heads = ceil_div(task_.model.kv_heads, key.tensor),
          .input = key.handed.input,
          .gradient = key.handed.gradient};
}

LayoutShelf::Handed LayoutShelf::handed_by(Part part, const AxisLayout& layout) const {
  const DataflowGraph& graph = blocks_[part]->graph();
  return {.input = output_of(graph, layout, "INPUT"),
          .gradient = output_of(graph, layout, "GRADIENT")};
}

const AxisLayout* LayoutShelf::find(const Key& key, const Deadline& deadline) {
  Once<AxisLayout>& once = [&]() -> auto& {
    const std::lock_guard lock(mutex_);
    return found_[key];
  }
  ();
  const std::lock_guard lock(once.making);
  if (!once.value) {
    const DataflowGraph& graph = blocks_[key.part]->graph();
    const AxisRules rules = rules_of(key);
    const bool keeps_least = key.order == TensorLayout::LeastKept;
    const LayoutCosts costs = keeps_least ? least_kept(graph, rules) : least_sent(graph, rules);
    once.value = least_layout(graph, rules, costs, deadline);
  }
  return &*once.value;
}

const LayoutShelf::Front& LayoutShelf::front(std::int64_t chips, const Deadline& deadline) {
  Once<Front>& once = [&]() -> auto& {
    const std::lock_guard lock(mutex_);
    return fronts_[chips];
  }
  ();
  const std::lock_guard lock(once.making);
  if (!once.value) {
    const DataflowGraph& graph = blocks_[most_layers_]->graph();
    const AxisRules rules =
        rules_of({most_layers_, Role::Tensor, chips, TensorLayout::LeastSent, 1, {}});
    const std::vector<FrontLayout> whole =
        layout_front(graph, rules, sent_and_kept(graph, rules), deadline);
    std::vector<FrontLayout> left = whole;
    if (left.size() > std::size_t{kMostFrontLayouts}) {
      for (double more = 1.0 / 256.0; left.size() > kThinned; more *= 2.0) {
        left = thinned(whole, 1.0 + more);
      }
    }
    once.value.emplace();
    for (FrontLayout& member : left) once.value->push_back(std::move(member.layout));
  }
  return *once.value;
}

const AxisLayout* LayoutShelf::beside_layers(Key key, const Deadline& deadline) {
  if (key.part != first_layers_) {
    Key of_layers = key;
    of_layers.part = first_layers_;
    key.handed = handed_by(first_layers_, *find(of_layers, deadline));
  }
  return find(key, deadline);
}

const AxisLayout* LayoutShelf::on_front(Part part, std::int64_t chips, int place,
                                        const Deadline& deadline) {
  const AxisLayout& member = front(chips, deadline)[static_cast<std::size_t>(place - 1)];
  if (part == most_layers_) return &member;
  // The ends take the layout that sends least, since they keep values of one micro-batch only.
  const TensorLayout order = is_layer(part) ? TensorLayout::LeastKept : TensorLayout::LeastSent;
  return find({part, Role::Tensor, chips, order, 1, handed_by(most_layers_, member)}, deadline);
}

std::vector<TensorLayout> LayoutShelf::tensor_layouts(const Degrees& degrees,
                                                      const Deadline& deadline) {
  if (degrees[Role::Tensor] == 1) return {TensorLayout::LeastSent};
  std::vector<TensorLayout> all{TensorLayout::LeastSent, TensorLayout::LeastKept};
  const auto members = static_cast<int>(front(degrees[Role::Tensor], deadline).size());
  for (int place = 1; place <= members; ++place) all.push_back(front_layout(place));
  return all;
}

BlockLayouts LayoutShelf::layouts(Part part, const Degrees& degrees, TensorLayout order,
                                  const Deadline& deadline) {
  // If layers differ only in the tokens that attention sees, they have the same kernels and values.
  if (part == Part::OtherLayer) part = expert_layers_;
  BlockLayouts layouts;
  const std::int64_t tensor = degrees[Role::Tensor];
  if (tensor > 1) {
    const int place = place_in_front(order);
    layouts.tensor = place > 0
                         ? on_front(part, tensor, place, deadline)
                         : beside_layers({part, Role::Tensor, tensor, order, 1, {}}, deadline);
  }
  // On the context and expert axes, all plans have the layout that sends least.
  constexpr TensorLayout kOne = TensorLayout::LeastSent;
  if (degrees[Role::Context] > 1) {
    layouts.context =
        beside_layers({part, Role::Context, degrees[Role::Context], kOne, tensor, {}}, deadline);
  }
  // On the expert axis, other parts are divided by samples alone and have no layouts.
  if (degrees[Role::Expert] > 1 && part == expert_layers_) {
    layouts.expert =
        beside_layers({part, Role::Expert, degrees[Role::Expert], kOne, 1, {}}, deadline);
  }
  return layouts;
}

Profiles LayoutShelf::profiles(const Degrees& degrees, TensorLayout order, std::int64_t micro_batch,
                               const Deadline& deadline) {
  if (task_.stack) return stack_profiles(task_, degrees, order, micro_batch);
  Profiles profiles;
  for (const Part part : kParts) {
    if (!blocks_[part]) continue;
    profiles[static_cast<std::size_t>(part)] = profile(
        task_, *blocks_[part], layouts(part, degrees, order, deadline), degrees, micro_batch);
  }
  return profiles;
}

LayoutSummary summary_of(const Block& block, const AxisLayout& layout) {
  LayoutSummary summary;
  for (std::size_t v = 0; v < block.values().size(); ++v) {
    const Block::Value& value = block.values()[v];
    if (!value.is_kept) continue;
    const std::string& name = block.graph().kernel(value.producer).name;
    if (layout.kept[v] == ValueLayout::Replicated) summary.whole.push_back(name);
    const auto is_again = [&](const Conversion& conversion) {
      return conversion.value == v && conversion.phase == Phase::Backward;
    };
    if (std::any_of(layout.conversions.begin(), layout.conversions.end(), is_again)) {
      summary.again.push_back(name);
    }
  }
  return summary;
}

}  // namespace dfsearch::training
