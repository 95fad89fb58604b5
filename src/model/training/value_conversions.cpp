#include "model/training/value_conversions.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "model/training/layer_roles.hpp"

namespace dfsearch::training {

namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// Tries each source of every required layout, depth first.
class TreeSearch {
 public:
  TreeSearch(ValueLayout root, LayoutSet wanted, const PassageCost& cost)
      : root_(root), cost_(cost), best_{.cost = {kImpossible, kImpossible, kImpossible}} {
    for (std::size_t i = 0; i < kLayouts; ++i) {
      const auto layout = static_cast<ValueLayout>(i);
      if (layout != root && (wanted & layout_bit(layout)) != 0) wanted_[count_++] = layout;
    }
  }

  ConversionTree run() {
    extend(0, {});
    return best_;
  }

 private:
  void extend(std::size_t next, const LayoutCost& cost) {
    if (next == count_) {
      if (cost < best_.cost && is_tree()) best_ = {.cost = cost, .source = source_};
      return;
    }
    const ValueLayout to = wanted_[next];
    for (std::size_t i = 0; i <= count_; ++i) {
      const ValueLayout from = i == 0 ? root_ : wanted_[i - 1];
      if (from == to) continue;
      const LayoutCost own = cost_(from, to);
      source_[static_cast<std::size_t>(to)] = from;
      extend(next + 1, {cost[0] + own[0], cost[1] + own[1], cost[2] + own[2]});
    }
  }

  [[nodiscard]] bool is_tree() const {
    for (std::size_t i = 0; i < count_; ++i) {
      ValueLayout at = wanted_[i];
      for (std::size_t steps = 0; at != root_; ++steps) {
        if (steps == count_) return false;  // a cycle
        at = source_[static_cast<std::size_t>(at)];
      }
    }
    return true;
  }

  ValueLayout root_;
  const PassageCost& cost_;
  std::array<ValueLayout, kLayouts> wanted_{};
  std::size_t count_ = 0;
  std::array<ValueLayout, kLayouts> source_{};
  ConversionTree best_;
};

}  // namespace

HeadCopies head_copies(const DataflowGraph& graph, std::size_t value, const AxisRules& axis) {
  if (axis.axis != Axis::Tensor || axis.chips <= axis.kv_heads) return HeadCopies::None;
  const Tensor& tensor = graph.tensor(graph.values()[value].front());
  const LayerRole role = role_of(graph, tensor.from);
  if (role.role == KernelRole::Attention) {
    if (graph.kernel(tensor.from).phase == Phase::Forward) return HeadCopies::None;
    const int operand = graph.tensor(differentiated(graph, tensor)).operand;
    return operand == 1 ? HeadCopies::None : HeadCopies::OfGradient;
  }
  // The data gradient of a weight is the gradient of its input, which has no heads of keys.
  if (role.unit != RowUnit::KeyHead || role.role == KernelRole::DataGradient) {
    return HeadCopies::None;
  }
  return graph.kernel(tensor.from).phase == Phase::Forward ? HeadCopies::OfValue
                                                           : HeadCopies::OfGradient;
}

Passage passage(ValueLayout from, ValueLayout to, HeadCopies copies) {
  constexpr Passage kImpossiblePassage{};
  const auto by = [](Exchange exchange) { return Passage{.possible = true, .exchange = exchange}; };
  if (from == to) return {.possible = true};
  if (to == ValueLayout::Partial) return kImpossiblePassage;
  if (from == ValueLayout::Experts || to == ValueLayout::Experts) {
    const ValueLayout other = from == ValueLayout::Experts ? to : from;
    return other == ValueLayout::Tokens ? by(Exchange::AllToAll) : kImpossiblePassage;
  }
  if (from == ValueLayout::Replicated) return {.possible = true};
  // Summands of a head are summands of the whole value, with zeros for the other heads.
  const bool is_sum = from == ValueLayout::Partial ||
                      (from == ValueLayout::Features && copies == HeadCopies::OfGradient);
  if (to == ValueLayout::Replicated) return by(is_sum ? Exchange::AllReduce : Exchange::AllGather);
  // Heads that several chips need are slices of the whole value.
  if (to == ValueLayout::Features && copies != HeadCopies::None) {
    return by(is_sum ? Exchange::AllReduce : Exchange::AllGather);
  }
  return by(is_sum ? Exchange::ReduceScatter : Exchange::AllToAll);
}

ConversionTree cheapest_tree(ValueLayout root, LayoutSet wanted, const PassageCost& cost) {
  return TreeSearch(root, wanted, cost).run();
}

// The cheapest tree from one layout to several, in the product of the trees of the axes (Dreyfus
// and Wagner): for each set of required layouts and each place, the least cost of making the set
// from the place.  Places are joint layouts; there are few, and even fewer are required.

namespace {

constexpr JointCost kNever = {std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::infinity()};

JointCost plus(const JointCost& a, const JointCost& b) { return {a[0] + b[0], a[1] + b[1]}; }

class CheapestTree {
 public:
  CheapestTree(const JointLayout& root, const JointPassages& passages,
               const std::vector<JointLayout>& wanted,
               const std::function<JointCost(const JointStep&)>& cost) {
    find_places(root, passages);
    for (const JointLayout& layout : wanted) {
      const std::size_t place = place_of(layout);
      if (place != 0 && std::find(wanted_.begin(), wanted_.end(), place) == wanted_.end()) {
        wanted_.push_back(place);
      }
    }
    if (!wanted_.empty()) find_edges(passages, cost);
  }

  std::vector<JointStep> run() {
    if (wanted_.empty()) return {};
    const std::size_t sets = std::size_t{1} << wanted_.size();
    best_.assign(sets, std::vector<Best>(places_.size()));
    for (std::size_t set = 1; set < sets; ++set) solve(set);
    DFSEARCH_ASSERT(best_[sets - 1][0].cost < kNever);
    std::vector<JointStep> steps;
    collect(sets - 1, 0, steps);
    return steps;
  }

 private:
  struct Edge {
    std::size_t from, to;
    JointStep step;
    JointCost cost{};
  };
  /// The cheapest way to make a set from a place: along an edge, or in two parts.
  struct Best {
    JointCost cost = kNever;
    std::size_t edge = 0;
    std::size_t part = 0;  // one of two parts of the set; 0: along the edge
  };

  void find_places(const JointLayout& root, const JointPassages& passages) {
    std::array<std::vector<ValueLayout>, kAxes> layouts;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      layouts[axis].push_back(root[axis]);
      for (const AxisPassage& passage : passages[axis]) layouts[axis].push_back(passage.to);
    }
    for (const ValueLayout a : layouts[0]) {
      for (const ValueLayout b : layouts[1]) {
        for (const ValueLayout c : layouts[2]) places_.push_back({a, b, c});
      }
    }
  }

  [[nodiscard]] std::size_t place_of(const JointLayout& layout) const {
    const auto found = std::find(places_.begin(), places_.end(), layout);
    DFSEARCH_ASSERT(found != places_.end());
    return static_cast<std::size_t>(found - places_.begin());
  }

  void find_edges(const JointPassages& passages,
                  const std::function<JointCost(const JointStep&)>& cost) {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        for (const AxisPassage& passage : passages[axis]) {
          if (passage.from != places_[place][axis]) continue;
          JointLayout made = places_[place];
          made[axis] = passage.to;
          const JointStep step{.axis = axis, .passage = passage, .at = places_[place]};
          edges_.push_back({.from = place,
                            .to = place_of(made),
                            .step = step,
                            .cost = passage.by != nullptr ? cost(step) : JointCost{}});
        }
      }
    }
  }

  void solve(std::size_t set) {
    std::vector<Best>& best = best_[set];
    if ((set & (set - 1)) == 0) {
      std::size_t only = 0;
      while ((std::size_t{1} << only) != set) ++only;
      best[wanted_[only]].cost = {};
    }
    for (std::size_t part = (set - 1) & set; part > 0; part = (part - 1) & set) {
      for (std::size_t place = 0; place < places_.size(); ++place) {
        const JointCost both = plus(best_[part][place].cost, best_[set ^ part][place].cost);
        if (both < best[place].cost) best[place] = {.cost = both, .edge = 0, .part = part};
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t e = 0; e < edges_.size(); ++e) {
        const JointCost along = plus(edges_[e].cost, best[edges_[e].to].cost);
        if (!(along < best[edges_[e].from].cost)) continue;
        best[edges_[e].from] = {.cost = along, .edge = e, .part = 0};
        changed = true;
      }
    }
  }

  void collect(std::size_t set, std::size_t place, std::vector<JointStep>& steps) const {
    if ((set & (set - 1)) == 0) {
      std::size_t only = 0;
      while ((std::size_t{1} << only) != set) ++only;
      if (wanted_[only] == place) return;
    }
    const Best& best = best_[set][place];
    if (best.part != 0) {
      collect(best.part, place, steps);
      collect(set ^ best.part, place, steps);
      return;
    }
    const Edge& edge = edges_[best.edge];
    if (std::find(steps.begin(), steps.end(), edge.step) == steps.end()) {
      steps.push_back(edge.step);
    }
    collect(set, edge.to, steps);
  }

  std::vector<JointLayout> places_;  // joint layouts, the root first
  std::vector<std::size_t> wanted_;
  std::vector<Edge> edges_;
  std::vector<std::vector<Best>> best_;  // by set of required layouts and by place
};

}  // namespace

std::vector<JointStep> cheapest_steps(const JointLayout& root, const JointPassages& passages,
                                      const std::vector<JointLayout>& wanted,
                                      const std::function<JointCost(const JointStep&)>& cost) {
  return CheapestTree(root, passages, wanted, cost).run();
}

}  // namespace dfsearch::training
