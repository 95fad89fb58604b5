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

/// So many degrees are tried for a first plan, the least floors first.
constexpr std::size_t kSeeds = 64;

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
  if (!expansion.incumbent()) seed(expansion);
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
  for (Node& child : children) expansion.child(std::move(child));
}

/// First plans, before any proof: straight down from the degrees of the least floors, each with its
/// smallest micro-batch and one layout, which is known sooner than all that plans may take.
void PlanTree::seed(Expansion<Node, Solution>& expansion) const {
  const Blocks& blocks = space_.blocks();
  std::vector<Node> seeds;
  for (const Degrees& inner : space_.inner_degrees()) {
    deadline_.check();
    const std::optional<TensorLayout> layout = space_.first_layout(inner);
    if (!layout) continue;
    const bool is_first = seeds.empty();
    std::map<std::int64_t, Profiles> known;
    for (const Degrees& degrees : space_.degrees(inner)) {
      if (std::find(excluded_.begin(), excluded_.end(), degrees) != excluded_.end()) continue;
      const std::vector<std::int64_t> micro_batches = space_.micro_batches(degrees);
      if (micro_batches.empty()) continue;
      Node node{.level = Level::Layout, .plan = {}, .bound = {}};
      node.plan.degrees = degrees;
      node.plan.micro_batch = micro_batches.front();
      node.plan.layout = *layout;
      const auto [entry, is_new] = known.try_emplace(node.plan.micro_batch);
      auto& profiles = entry->second;
      if (is_new) profiles = shelf_.profiles(degrees, *layout, node.plan.micro_batch, deadline_);
      const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
      const StepModel model(space_.task(), node.plan, profiles, blocks.dense_layers,
                            blocks.expert_layers);
      node.bound = score(model.average_floor(anywhere, model.passes(anywhere)));
      seeds.push_back(std::move(node));
    }
    // Something at once, in case there is no time for more.
    if (is_first) dive(seeds, expansion);
  }
  dive(std::move(seeds), expansion);
}

/// Straight down from the least bounds, as long as they promise something better.
void PlanTree::dive(std::vector<Node> nodes, Expansion<Node, Solution>& expansion) const {
  const auto by_bound = [](const Node& a, const Node& b) { return a.bound < b.bound; };
  std::stable_sort(nodes.begin(), nodes.end(), by_bound);
  if (nodes.size() > kSeeds) nodes.resize(kSeeds);
  for (const Node& node : nodes) {
    if (node.bound >= expansion.cutoff()) return;
    const std::vector<Node> shapes = shapes_of(node, expansion.cutoff());
    const auto first = std::min_element(shapes.begin(), shapes.end(), by_bound);
    if (first != shapes.end()) branch_shape(*first, expansion);
  }
}

void PlanTree::branch_micro_batch(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (Node& child : layouts_of(node)) expansion.child(std::move(child));
}

void PlanTree::branch_layout(const Node& node, Expansion<Node, Solution>& expansion) const {
  for (Node& child : shapes_of(node, expansion.cutoff())) expansion.child(std::move(child));
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

std::vector<PlanTree::Node> PlanTree::shapes_of(const Node& node, Score cutoff) const {
  std::vector<Node> shapes;
  const Blocks& blocks = space_.blocks();
  const Degrees& degrees = node.plan.degrees;
  deadline_.check();
  const TensorLayout layout = node.plan.layout;
  const Profiles profiles = shelf_.profiles(degrees, layout, node.plan.micro_batch, deadline_);
  const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
  const Seconds most(cutoff.in_base_units());
  std::int64_t measured = 0;
  for (const Plan& shape : space_.shapes(degrees, node.plan.micro_batch, layout)) {
    const StepModel model(space_.task(), shape, profiles, blocks.dense_layers,
                          blocks.expert_layers);
    ++measured;
    const std::optional<Seconds> floor = model.floor(anywhere, most);
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
    auto result =
        model.step(Groups(task.machine, network), Seconds(expansion.cutoff().in_base_units()));
    if (!result) continue;
    plan.layers = std::move(result->layers);
    plan.network = std::move(network);
    expansion.solution({.plan = plan, .cost = score(result->step)}, 'T');
  }
  evaluated_.fetch_add(evaluated, std::memory_order_relaxed);
}

}  // namespace dfsearch::training
