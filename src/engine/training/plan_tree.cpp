// Level by level the decisions of a plan are taken.
//
// What has its degrees, its micro-batch and perhaps its layout gets a floor from the profile of its
// layers, with every group where it is fastest; what has all but its network the floor of its own schedule,
// once some spread of its layers fits in memory.  docs/search.md, section 15, has the proofs;
// tests/engine/training compares with plain enumeration.

#include "engine/training/plan_tree.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "model/training/evaluate.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

static_assert(CheckableProblem<PlanTree>);

using Level = PlanNode::Level;

constexpr std::size_t kDives = 16;

Score score(Seconds time) { return Score(time.in_base_units()); }

/// -1, 0 or 1: how the decisions of a level compare, in the order of ties.
template <class... Values>
int compared(const std::tuple<Values...>& a, const std::tuple<Values...>& b) {
  if (a == b) return 0;
  return a < b ? -1 : 1;
}

/// What all matrix engines need for the products of the model at their best rate.
Seconds least_step(const Task& task) {
  const Engine& engine = task.machine.matrix;
  double share = engine.efficiency.steps.empty() ? 1.0 : 0.0;
  for (const auto& step : engine.efficiency.steps) share = std::max(share, step.share);
  const double chips = static_cast<double>(task.machine.chips);
  return model_flops(task) / (engine.peak * (share * chips)) * kLessRoundings;
}

int compare_to(Level level, const Plan& a, const Plan& b) {
  const auto inner = [](const Plan& p) {
    return std::tuple(p.degrees[Role::Tensor], p.degrees[Role::Context], p.degrees[Role::Expert]);
  };
  const auto micro_batch = [](const Plan& p) { return std::tuple(p.degrees, p.micro_batch); };
  const auto layout = [](const Plan& p) { return std::tuple(p.degrees, p.micro_batch, p.layout); };
  const auto shape = [](const Plan& p) {
    return std::tuple(p.degrees, p.micro_batch, p.layout, p.recompute, p.zero, p.schedule, p.chunks,
                      p.offload);
  };
  switch (level) {
    case Level::Root:
      return 0;
    case Level::Inner:
      return compared(inner(a), inner(b));
    case Level::MicroBatch:
      return compared(micro_batch(a), micro_batch(b));
    case Level::Layout:
      return compared(layout(a), layout(b));
    case Level::Shape:
      break;
  }
  return compared(shape(a), shape(b));
}

}  // namespace

bool PlanTree::before(const Node& node, const Solution& solution) const {
  return compare_to(node.level, node.plan, solution.plan) <= 0;
}

bool PlanTree::contains(const Node& node, const Solution& solution) const {
  return compare_to(node.level, node.plan, solution.plan) == 0;
}

void PlanTree::branch(const Node& node, Expansion<Node, Solution>& expansion) const {
  deadline_.check();
  switch (node.level) {
    case Level::Root:
      return branch_root(node, expansion);
    case Level::Inner:
      return branch_inner(node, expansion);
    case Level::MicroBatch:
      return branch_micro_batch(node, expansion);
    case Level::Layout:
      return branch_layout(node, expansion);
    case Level::Shape:
      return branch_shape(node, expansion);
  }
}

PlanTree::Node PlanTree::root() const {
  Node root;
  root.bound = score(least_step(space_.task()));
  return root;
}

void PlanTree::branch_root(const Node& node, Expansion<Node, Solution>& expansion) const {
  // Of equal bounds the newest comes first: the one of the smallest groups.
  std::vector<Degrees> all = space_.inner_degrees();
  std::reverse(all.begin(), all.end());
  for (const Degrees& inner : all) {
    Node child{.level = Level::Inner, .plan = {}, .bound = node.bound};
    child.plan.degrees = inner;
    expansion.child(std::move(child));
  }
}

void PlanTree::branch_inner(const Node& node, Expansion<Node, Solution>& expansion) const {
  const Blocks& blocks = space_.blocks();
  struct Known {
    Profiles profiles;
    std::optional<Seconds> passes;
  };
  std::map<std::pair<TensorLayout, std::int64_t>, Known> known;
  std::vector<Node> children;
  const std::vector<TensorLayout> layouts = space_.layouts(node.plan.degrees, shelf_, deadline_);
  for (const Degrees& degrees : space_.degrees(node.plan.degrees)) {
    if (std::find(excluded_.begin(), excluded_.end(), degrees) != excluded_.end()) continue;
    const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
    for (const std::int64_t micro_batch : space_.micro_batches(degrees)) {
      deadline_.check();
      Node child{.level = Level::MicroBatch, .plan = {}, .bound = node.bound};
      child.plan.degrees = degrees;
      child.plan.micro_batch = micro_batch;
      Seconds least = Seconds::infinity();
      for (const TensorLayout layout : layouts) {
        const auto [entry, is_new] = known.try_emplace({layout, micro_batch});
        auto& [profiles, passes] = entry->second;
        if (is_new) profiles = shelf_.profiles(degrees, layout, micro_batch, deadline_);
        child.plan.layout = layout;
        const StepModel model(space_.task(), child.plan, profiles, blocks.dense_layers,
                              blocks.expert_layers);
        if (!passes) passes = model.passes(anywhere);
        const Seconds floor = model.average_floor(anywhere, *passes);
        child.layouts.push_back(std::max(node.bound, score(floor)));
        least = std::min(least, floor);
      }
      child.bound = std::max(node.bound, score(least));
      if (!(least < Seconds::infinity())) continue;
      children.push_back(std::move(child));
    }
  }
  if (!expansion.incumbent()) dive(children, expansion);
  for (Node& child : children) expansion.child(std::move(child));
}

/// Straight down to a plan, as long as there is none.
void PlanTree::dive(std::vector<Node> nodes, Expansion<Node, Solution>& expansion) const {
  const auto by_bound = [](const Node& a, const Node& b) { return a.bound < b.bound; };
  std::stable_sort(nodes.begin(), nodes.end(), by_bound);
  // Memory holds none of the first ones' shapes, or soon one of them.
  if (nodes.size() > kDives) nodes.resize(kDives);
  for (const Node& node : nodes) {
    std::vector<Node> shapes;
    for (const Node& layout : layouts_of(node)) {
      for (Node& shape : shapes_of(layout)) shapes.push_back(std::move(shape));
    }
    const auto first = std::min_element(shapes.begin(), shapes.end(), by_bound);
    if (first == shapes.end()) continue;
    return branch_shape(*first, expansion);
  }
}

void PlanTree::branch_micro_batch(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (Node& child : layouts_of(node)) expansion.child(std::move(child));
}

void PlanTree::branch_layout(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (Node& child : shapes_of(node)) expansion.child(std::move(child));
}

std::vector<PlanTree::Node> PlanTree::layouts_of(const Node& node) const {
  std::vector<Node> nodes;
  const std::vector<TensorLayout> layouts = space_.layouts(node.plan.degrees, shelf_, deadline_);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    Node child{.level = Level::Layout, .plan = node.plan, .bound = node.layouts[i]};
    child.plan.layout = layouts[i];
    nodes.push_back(std::move(child));
  }
  return nodes;
}

std::vector<PlanTree::Node> PlanTree::shapes_of(const Node& node) const {
  std::vector<Node> shapes;
  const Blocks& blocks = space_.blocks();
  const Degrees& degrees = node.plan.degrees;
  deadline_.check();
  const TensorLayout layout = node.plan.layout;
  const Profiles profiles = shelf_.profiles(degrees, layout, node.plan.micro_batch, deadline_);
  const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
  std::int64_t measured = 0;
  for (const Plan& shape : space_.shapes(degrees, node.plan.micro_batch, layout)) {
    const StepModel model(space_.task(), shape, profiles, blocks.dense_layers,
                          blocks.expert_layers);
    ++measured;
    const std::optional<Seconds> floor = model.floor(anywhere);
    if (!floor) continue;
    shapes.push_back(
        {.level = Level::Shape, .plan = shape, .bound = std::max(node.bound, score(*floor))});
  }
  measured_.fetch_add(measured, std::memory_order_relaxed);
  return shapes;
}

void PlanTree::branch_shape(const Node& node, Expansion<Node, Solution>& expansion) const {
  const Blocks& blocks = space_.blocks();
  const Task& task = space_.task();
  Plan plan = node.plan;
  const Profiles profiles = shelf_.profiles(plan.degrees, plan.layout, plan.micro_batch, deadline_);
  const StepModel model(task, plan, profiles, blocks.dense_layers, blocks.expert_layers);
  std::int64_t evaluated = 0;
  for (std::vector<Degrees>& network : space_.networks(plan.degrees)) {
    deadline_.check();
    ++evaluated;
    auto result = model.step(Groups(task.machine, network));
    if (!result || score(result->step) > expansion.cutoff()) continue;
    plan.layers = std::move(result->layers);
    plan.network = std::move(network);
    expansion.solution({.plan = plan, .cost = score(result->step)}, 'T');
  }
  evaluated_.fetch_add(evaluated, std::memory_order_relaxed);
}

}  // namespace dfsearch::training
