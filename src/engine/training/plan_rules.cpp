// The decisions of a plan are taken level by level.
//
// Degrees that divide a sample get a floor from the largest micro-batch at the best rates.  Plans
// with all degrees, the micro-batch and perhaps the layout get a floor from the profile of their
// layers, with every group at its fastest place.  Shapes, which lack only layers and network, get
// the floor of their schedule if some spread of their layers fits in memory.  docs/search.md,
// section 15, has the proofs; tests/engine/training compares with plain enumeration.

#include "engine/training/plan_rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <utility>
#include <variant>

#include "base/counts.hpp"
#include "engine/training/nearest_misfit.hpp"
#include "model/training/decisions.hpp"
#include "model/training/memory.hpp"
#include "model/training/step.hpp"
#include "model/training/step_energy.hpp"

namespace dfsearch::training {
namespace {

/// The number of degrees that are tried for a first plan, the least floors first.
constexpr std::size_t kSeeds = 64;

bool by_bound(const PlanNode& a, const PlanNode& b) { return a.bound < b.bound; }

/// The work whose energy the objective includes; empty if the objective is the step time.
EnergyWork searched_work(const Task& task, const StepModel& model, bool least) {
  return task.objective == Objective::StepTime ? EnergyWork{} : model.work(least);
}

}  // namespace

PlanRules::PlanRules(const PlanSpace& space, LayoutShelf& shelf)
    : space_(space),
      shelf_(shelf),
      times_(std::make_unique<LayerTimes>(space.task(), space.blocks(), shelf)),
      at_best_(at_best_rates(space.task())),
      best_times_(std::make_unique<LayerTimes>(at_best_, space.blocks(), shelf)) {}

void PlanRules::branch(const PlanNode& node, const PlanBranching& branching) const {
  branching.deadline.check();
  const auto emit = [&](std::vector<PlanNode> children) {
    for (PlanNode& child : children) branching.into.child(std::move(child));
  };
  switch (static_cast<Level>(node.level)) {
    case kRoot:
      return branch_root(node, branching);
    case kTensor:
      return branch_tensor(node, branching);
    case kInner:
      return branch_inner(node, branching);
    case kMicroBatch:
      return emit(layouts_of(node, branching.deadline));
    case kLayout:
      return emit(shapes_of(node, branching.into.cutoff(), branching.deadline));
    case kShape:
      return branch_shape(node, branching);
  }
}

std::optional<Cost> PlanRules::evaluated_cost(const Decisions& decisions) const {
  const Plan plan = plan_of(decisions, space_.task());
  if (decisions_of(plan) != decisions || !has(plan)) return std::nullopt;
  const auto verdict =
      evaluate(space_.task(), space_.blocks(), plan, times_->fusions(plan, Deadline()));
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr) return std::nullopt;
  return *cost;
}

std::optional<Score> PlanRules::cost(const Decisions& decisions) const {
  const std::optional<Cost> cost = evaluated_cost(decisions);
  if (!cost) return std::nullopt;
  return cost->objective;
}

/// A bound on the objective of every plan, from the time and the energy of the model's products.
Score PlanRules::least_value() const {
  const Task& task = space_.task();
  const Math math = math_of_word(task.pass.word, MathLibrary::Torch, task.machine.peaks);
  const EnergyWork work{.math = model_flops(task) * task.machine.energy.of(math)};
  return objective_floor(task, least_step(task), work);
}

PlanNode PlanRules::root() const {
  PlanNode root;
  // With a stack the value is no bound: products may have a narrower format, and so a higher rate,
  // than the peak of the machine.
  if (!space_.task().stack) root.bound = least_value();
  return root;
}

/// Whether the space has the decisions of a plan that are taken at a level.
bool PlanRules::has(Level level, const Plan& plan) const {
  const auto is_in = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  Degrees inner;
  for (const Role role : {Role::Tensor, Role::Context, Role::Expert}) {
    inner[role] = plan.degrees[role];
  }
  Plan shape = plan;
  shape.layers.clear();
  shape.network.clear();
  const auto has_tensor = [&] {
    const std::vector<Degrees> all = space_.inner_degrees();
    return std::any_of(all.begin(), all.end(), [&](const Degrees& each) {
      return each[Role::Tensor] == inner[Role::Tensor];
    });
  };
  return (level < kTensor || has_tensor()) &&
         (level < kInner || is_in(space_.inner_degrees(), inner)) &&
         (level < kMicroBatch || (is_in(space_.degrees(inner), plan.degrees) &&
                                  is_in(space_.micro_batches(plan.degrees), plan.micro_batch))) &&
         (level < kLayout || is_in(space_.layouts(plan.degrees, shelf_), plan.layout)) &&
         (level < kShape ||
          is_in(space_.shapes(plan.degrees, plan.micro_batch, plan.layout), shape));
}

bool PlanRules::has(const PlanNode& node) const {
  const std::size_t decided[] = {0,
                                 kTensorDecisions,
                                 kInnerDecisions,
                                 kMicroBatchDecisions,
                                 kLayoutDecisions,
                                 shape_decisions()};
  if (node.level < kRoot || node.level > kShape || node.taken.size() != decided[node.level]) {
    return false;
  }
  const Plan plan = plan_of(node.taken, space_.task());
  if (first_of(plan, node.taken.size()) != node.taken) return false;
  if (!has(static_cast<Level>(node.level), plan)) return false;
  return node.below.empty() || ((node.level == kInner || node.level == kMicroBatch) &&
                                node.below.size() == space_.layouts(plan.degrees, shelf_).size());
}

/// Whether the space contains the plan, which may come from a file.
bool PlanRules::has(const Plan& plan) const {
  const std::vector<std::int64_t>& given = space_.task().choices.layers;
  const std::int64_t all = space_.blocks().layers();
  const std::int64_t stages = plan.degrees[Role::Pipeline];
  const std::vector<std::vector<Division>> networks =
      has(kShape, plan) ? space_.networks(plan.degrees, plan.layout)
                        : std::vector<std::vector<Division>>();
  return std::find(networks.begin(), networks.end(), plan.network) != networks.end() &&
         static_cast<std::int64_t>(plan.layers.size()) == stages &&
         (given.empty() || plan.layers == given) &&
         std::all_of(plan.layers.begin(), plan.layers.end(),
                     [](std::int64_t layers) { return layers >= 0; }) &&
         std::accumulate(plan.layers.begin(), plan.layers.end(), std::int64_t{0}) == all &&
         is_possible(plan.schedule, plan.chunks,
                     space_.task().global_batch / (plan.degrees.replicas() * plan.micro_batch),
                     plan.layers);
}

void PlanRules::branch_root(const PlanNode& node, const PlanBranching& branching) const {
  if (!branching.into.incumbent()) seed(branching);
  // The queue takes the newest of equal bounds first: here the node of the smallest groups.
  std::vector<Degrees> all = space_.inner_degrees();
  std::reverse(all.begin(), all.end());
  std::optional<std::int64_t> last;
  for (const Degrees& inner : all) {
    if (std::exchange(last, inner[Role::Tensor]) == inner[Role::Tensor]) continue;
    branching.into.child({.level = kTensor,
                          .taken = first_of({.degrees = inner}, kTensorDecisions),
                          .bound = node.bound});
  }
}

void PlanRules::branch_tensor(const PlanNode& node, const PlanBranching& branching) const {
  std::vector<Degrees> all = space_.inner_degrees();
  // With a stack there are no floors here, and a single node needs no order.
  const bool has_floors = !space_.task().stack && all.size() > 1;
  std::erase_if(all, [&](const Degrees& inner) { return inner[Role::Tensor] != node.taken[0]; });
  std::reverse(all.begin(), all.end());
  std::vector<PlanNode> children;
  for (const Degrees& inner : all) {
    if (space_.degrees(inner).empty()) continue;
    PlanNode& child =
        children.emplace_back(PlanNode{.level = kInner,
                                       .taken = first_of({.degrees = inner}, kInnerDecisions),
                                       .bound = node.bound});
    if (has_floors) child.below = inner_floors(inner, branching.deadline);
    for (Score& below : child.below) below = std::max(node.bound, below);
    if (child.below.empty()) continue;
    child.bound = *std::min_element(child.below.begin(), child.below.end());
  }
  for (PlanNode& child : children) branching.into.child(std::move(child));
}

/// A floor for each layout of plans with these degrees within a sample.  A sample takes the least
/// time in the largest micro-batch, and no kernel exceeds the best rates.
std::vector<Score> PlanRules::inner_floors(const Degrees& inner, const Deadline& deadline) const {
  std::vector<Score> floors;
  Plan plan;
  plan.degrees = inner;
  const std::int64_t samples = at_best_.global_batch / inner[Role::Expert];
  plan.micro_batch = samples;
  if (const auto& given = at_best_.choices.micro_batches; !given.empty()) {
    plan.micro_batch = std::min(samples, *std::max_element(given.begin(), given.end()));
  }
  const std::int64_t chips = inner[Role::Tensor] * inner[Role::Context] * inner[Role::Expert];
  const double share =
      number(samples) / number(plan.micro_batch) * number(chips) / number(at_best_.machine.chips);
  const Groups anywhere = Groups::anywhere(at_best_.machine, inner);
  for (const TensorLayout layout : space_.layouts(inner, shelf_, deadline)) {
    deadline.check();
    plan.layout = layout;
    const Profiles profiles = best_times_->floor(plan, deadline);
    const StepModel model(at_best_, plan, profiles, space_.blocks().order);
    EnergyWork work = searched_work(at_best_, model, true);
    // The samples of a replica need not be a multiple of the micro-batch.
    const double parts = number(samples) / number(plan.micro_batch);
    work = parts / number(model.micro_batches()) * number(chips) / number(at_best_.machine.chips) *
           work;
    floors.push_back(
        objective_floor(at_best_, model.passes(anywhere) * share * kLessRoundings, work));
  }
  return floors;
}

void PlanRules::branch_inner(const PlanNode& node, const PlanBranching& branching) const {
  const Blocks& blocks = space_.blocks();
  const Degrees inner = plan_of(node.taken, space_.task()).degrees;
  struct CachedPasses {
    Profiles profiles;
    std::map<Recompute, Seconds> passes;
  };
  const std::vector<Recompute> recomputes = recomputes_of(space_.task());
  std::map<std::pair<TensorLayout, std::int64_t>, CachedPasses> known;
  std::vector<PlanNode> children;
  const std::vector<TensorLayout> layouts = space_.layouts(inner, shelf_, branching.deadline);
  Plan plan;
  for (const Degrees& degrees : space_.degrees(inner)) {
    plan.degrees = degrees;
    if (branching.excludes(decisions_of(plan))) continue;
    const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
    for (const std::int64_t micro_batch : space_.micro_batches(degrees)) {
      branching.deadline.check();
      plan.micro_batch = micro_batch;
      PlanNode child{.level = kMicroBatch, .taken = first_of(plan, kMicroBatchDecisions)};
      Score least = Score::infinity();
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        const TensorLayout layout = layouts[i];
        // A known floor may rule this layout out for any micro-batch.
        const Score known_floor = node.below.empty() ? node.bound : node.below[i];
        if (known_floor > branching.into.cutoff()) {
          child.below.push_back(known_floor);
          least = std::min(least, known_floor);
          continue;
        }
        const auto [entry, is_new] = known.try_emplace({layout, micro_batch});
        auto& [profiles, passes] = entry->second;
        plan.layout = layout;
        if (is_new) profiles = times_->floor(plan, branching.deadline);
        // A plan whose memory cannot hold all values computes some of them again.
        std::optional<Score> floor;
        for (const Recompute recompute : recomputes) {
          plan.recompute = recompute;
          const bool is_last = recompute == recomputes.back();
          const bool is_tried = is_last && !floor && !space_.task().stack;
          const StepModel model(space_.task(), plan, profiles, blocks.order);
          auto least_passes = passes.find(recompute);
          if (least_passes == passes.end()) {
            least_passes = passes.emplace(recompute, model.passes(anywhere)).first;
          }
          const Score one =
              objective_floor(space_.task(), model.average_floor(anywhere, least_passes->second),
                              searched_work(space_.task(), model, true));
          if (floor && one >= *floor) continue;
          if (!is_tried && !may_fit(space_.task(), plan, profiles, blocks.order)) continue;
          floor = one;
          // Without a stack recomputations are in the order of their times.
          if (!space_.task().stack || recompute == Recompute::None) break;
        }
        const Score one = floor.value_or(Score::infinity());
        child.below.push_back(std::max(known_floor, one));
        least = std::min(least, one);
      }
      child.bound = std::max(node.bound, least);
      if (!(least < Score::infinity())) continue;
      children.push_back(std::move(child));
    }
  }
  for (PlanNode& child : children) branching.into.child(std::move(child));
}

/// Finds first plans before any proof: dives from the degrees of the least floors, each with its
/// smallest micro-batch and one layout, since finding all layouts takes longer.
void PlanRules::seed(const PlanBranching& branching) const {
  const Blocks& blocks = space_.blocks();
  std::vector<PlanNode> seeds;
  Plan plan;
  for (const Degrees& inner : space_.inner_degrees()) {
    branching.deadline.check();
    const std::optional<TensorLayout> layout = space_.first_layout(inner);
    if (!layout) continue;
    plan.layout = *layout;
    const bool is_first = seeds.empty();
    std::map<std::int64_t, Profiles> known;
    for (const Degrees& degrees : space_.degrees(inner)) {
      plan.degrees = degrees;
      if (branching.excludes(decisions_of(plan))) continue;
      const std::vector<std::int64_t> micro_batches = space_.micro_batches(degrees);
      if (micro_batches.empty()) continue;
      plan.micro_batch = micro_batches.front();
      const auto [entry, is_new] = known.try_emplace(plan.micro_batch);
      auto& profiles = entry->second;
      if (is_new) {
        profiles = times_->floor(plan, branching.deadline);
      }
      const Groups anywhere = Groups::anywhere(space_.task().machine, degrees);
      const StepModel model(space_.task(), plan, profiles, blocks.order);
      seeds.push_back({.level = kLayout,
                       .taken = first_of(plan, kLayoutDecisions),
                       .bound = objective_floor(
                           space_.task(), model.average_floor(anywhere, model.passes(anywhere)),
                           searched_work(space_.task(), model, true))});
    }
    // Finds a first plan at once, in case there is no time for more.
    if (is_first) dive(seeds, branching);
  }
  dive(std::move(seeds), branching);
}

/// Expands the nodes of the least bounds down to plans, as long as bounds are below the cutoff.
void PlanRules::dive(std::vector<PlanNode> nodes, const PlanBranching& branching) const {
  std::stable_sort(nodes.begin(), nodes.end(), by_bound);
  if (nodes.size() > kSeeds) nodes.resize(kSeeds);
  for (const PlanNode& node : nodes) {
    if (node.bound >= branching.into.cutoff()) return;
    const std::vector<PlanNode> shapes =
        shapes_of(node, branching.into.cutoff(), branching.deadline);
    const auto first = std::min_element(shapes.begin(), shapes.end(), by_bound);
    if (first != shapes.end()) branch_shape(*first, branching);
  }
}

std::vector<PlanNode> PlanRules::layouts_of(const PlanNode& node, const Deadline& deadline) const {
  std::vector<PlanNode> nodes;
  Plan plan = plan_of(node.taken, space_.task());
  const std::vector<TensorLayout> layouts = space_.layouts(plan.degrees, shelf_, deadline);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    plan.layout = layouts[i];
    nodes.push_back({.level = kLayout,
                     .taken = first_of(plan, kLayoutDecisions),
                     .bound = node.below.empty() ? node.bound : node.below[i]});
  }
  return nodes;
}

std::vector<PlanNode> PlanRules::shapes_of(const PlanNode& node, Score most,
                                           const Deadline& deadline) const {
  deadline.check();
  const Plan plan = plan_of(node.taken, space_.task());
  const Blocks& blocks = space_.blocks();
  const Groups anywhere = Groups::anywhere(space_.task().machine, plan.degrees);
  std::vector<PlanNode> shapes;
  std::int64_t measured = 0;
  // Profiles without and with gradients of weights that wait.
  std::array<std::optional<Profiles>, 2> known;
  std::map<Recompute, Seconds> averages;
  for (const Plan& shape : space_.shapes(plan.degrees, plan.micro_batch, plan.layout)) {
    auto& profiles = known[shape.schedule == Schedule::ZeroBubble ? 1 : 0];
    if (!profiles) profiles = times_->floor(shape, deadline);
    const StepModel model(space_.task(), shape, *profiles, blocks.order, deadline);
    ++measured;
    const EnergyWork work = searched_work(space_.task(), model, false);
    const Seconds longest = longest_step(space_.task(), work, most);
    // Most of the many recomputations of a stack take too long: a floor drops their shapes early.
    if (space_.task().stack) {
      Plan plain = plan;
      plain.recompute = shape.recompute;
      const auto [average, is_new] = averages.try_emplace(shape.recompute);
      if (is_new) {
        const StepModel any(space_.task(), plain, *profiles, blocks.order);
        average->second = any.average_floor(anywhere, any.passes(anywhere));
      }
      if (average->second > longest) continue;
    }
    const std::optional<Seconds> floor = model.floor(anywhere, longest);
    if (!floor) continue;
    shapes.push_back({.level = kShape,
                      .taken = first_of(shape, shape_decisions()),
                      .bound = std::max(node.bound, objective_floor(space_.task(), *floor, work))});
  }
  measured_.fetch_add(measured, std::memory_order_relaxed);
  return shapes;
}

std::int64_t PlanRules::count_fitting(const Plan& plan, const Deadline& deadline) const {
  const PlanNode node{.level = kLayout, .taken = first_of(plan, kLayoutDecisions)};
  return static_cast<std::int64_t>(shapes_of(node, Score::infinity(), deadline).size());
}

void PlanRules::branch_shape(const PlanNode& node, const PlanBranching& branching) const {
  const Blocks& blocks = space_.blocks();
  const Task& task = space_.task();
  Plan plan = plan_of(node.taken, task);
  const Profiles profiles = times_->least(plan, branching.deadline);
  const StepModel model(task, plan, profiles, blocks.order, branching.deadline);
  const EnergyWork work = searched_work(task, model, false);
  const auto longest = [&] { return longest_step(task, work, branching.into.cutoff()); };
  // Fusions are searched only where memory holds the plan and its floor is low enough.
  if (task.style == Style::Dataflow) {
    const Groups anywhere = Groups::anywhere(task.machine, plan.degrees);
    if (!model.floor(anywhere, longest())) return;
  }
  std::int64_t evaluated = 0;
  for (std::vector<Division>& network :
       space_.networks(plan.degrees, plan.layout, branching.deadline)) {
    branching.deadline.check();
    ++evaluated;
    auto result = model.step(Groups(task.machine, network), longest());
    if (!result) continue;
    plan.layers = std::move(result->layers);
    plan.network = std::move(network);
    branching.into.solution(
        {.decisions = decisions_of(plan), .cost = objective_value(task, result->step, work)}, 'T');
  }
  evaluated_.fetch_add(evaluated, std::memory_order_relaxed);
}

}  // namespace dfsearch::training
