// The legal assignment of layouts of least cost.
//
// Variables are the rule of each weight, whose kernels are split alike, and of each other kernel.
// Each kernel, each end of the graph and each value has a term.  The term of a value is the least
// cost over conversions and kept layouts, given the layouts at its producer and consumers
// (value_delivery.hpp).  Bucket elimination (base/least_sum.hpp) minimises the sum exactly, also in
// its ties. tests/model/training/least_layout_test.cpp compares it with an enumeration of all
// assignments.

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/least_sum.hpp"
#include "model/training/layer_roles.hpp"
#include "model/training/layouts.hpp"
#include "model/training/value_delivery.hpp"

namespace dfsearch::training {
namespace {

// Limit of steps of the elimination; a layer takes some ten thousand.
constexpr double kMostSteps = 4e9;
// Limit of combinations of rules of the kernels of a value; models of any size have a few.
constexpr double kMostCombinations = 1e7;
constexpr std::int64_t kCombinationsBetweenLooks = 1'000;

constexpr std::size_t kNoVariable = static_cast<std::size_t>(-1);

/// A value that the graph hands on to the next layer, or back to the one before.
struct BoundaryValue {
  KernelId producer;
  std::optional<KernelId> source;       ///< stands for the value as this graph receives it
  std::optional<ValueLayout> layout{};  ///< the given layout, if there is no source
};

/// The kernel that computes the output for the next layer.
std::optional<KernelId> result_of(const DataflowGraph& graph) {
  const std::optional<KernelId> sum = find_kernel(graph, "ADD_2");
  return sum ? sum : find_kernel(graph, "EMBED");
}

/// The kernel that computes the gradient for the layer before, which nothing in the graph reads.
std::optional<KernelId> gradient_of(const DataflowGraph& graph, KernelId input) {
  std::optional<KernelId> last;
  for (std::size_t k = input.index(); k < graph.kernel_count(); ++k) {
    const KernelId id(k);
    const bool is_read = !graph.outputs(id).empty();
    if (is_read || graph.kernel(id).phase == Phase::Forward) continue;
    if (role_of(graph, id).role != KernelRole::WeightGradient) last = id;
  }
  return last;
}

std::vector<BoundaryValue> ends_of(const DataflowGraph& graph, const AxisRules& axis) {
  std::vector<BoundaryValue> ends;
  const auto add = [&](std::optional<KernelId> producer, std::optional<KernelId> source,
                       std::optional<ValueLayout> layout) {
    if (producer && (source || layout)) ends.push_back({*producer, source, layout});
  };
  const std::optional<KernelId> input = find_kernel(graph, "INPUT");
  add(result_of(graph), input, axis.input);
  if (input) add(gradient_of(graph, *input), find_kernel(graph, "GRADIENT"), axis.gradient);
  return ends;
}

class LayoutProblem {
 public:
  LayoutProblem(const DataflowGraph& graph, const AxisRules& axis, const LayoutCosts& costs,
                const Deadline& deadline)
      : graph_(graph),
        costs_(costs),
        deadline_(deadline),
        paced_(deadline, kCombinationsBetweenLooks),
        ends_(ends_of(graph, axis)) {
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      const Kernel& kernel = graph.kernels()[k];
      rules_.push_back(legal_rules(graph, KernelId(k), axis));
      variable_.push_back(kernel.weight_of ? kernel.weight_of->index() : k);
      sizes_.push_back(kernel.weight_of ? 1 : rules_.back().size());
      DFSEARCH_ASSERT(rules_.back().size() == rules_[variable_.back()].size());
    }
    for (std::size_t value = 0; value < graph.values().size(); ++value) {
      finders_.emplace_back(graph, value, axis, costs);
    }
  }

  AxisLayout least() {
    add_terms();
    auto best = least_sum(sizes_, terms_, kMostSteps, deadline_);
    if (!best) throw InternalError("the values of a layer entangle too many kernels");
    chosen_ = std::move(*best);
    return layout();
  }

  std::vector<FrontLayout> front() {
    add_kept_layouts();
    add_terms();
    auto best = sum_front(sizes_, terms_, kMostSteps, deadline_);
    if (!best) throw InternalError("the values of a layer entangle too many kernels");
    std::vector<FrontLayout> layouts;
    for (FrontSum& point : *best) {
      chosen_ = std::move(point.values);
      layouts.push_back({.layout = layout(), .cost = point.sum});
    }
    return layouts;
  }

 private:
  [[nodiscard]] const LayoutRule& rule(KernelId k) const {
    return rules_[k.index()][chosen_[variable_[k.index()]]];
  }

  void add_terms() {
    add_kernels();
    for (DeliveryFinder& finder : finders_) add_value(finder);
    for (const BoundaryValue& end : ends_) add_end(end);
  }

  /// Adds a variable for the layout in which a value is kept, after all other variables.  Its
  /// values are the layouts of its producer, and layouts that some rule of a forward consumer
  /// requires.
  void add_kept_layouts() {
    kept_variable_.resize(finders_.size(), kNoVariable);
    for (std::size_t value = 0; value < finders_.size(); ++value) {
      if (!finders_[value].is_kept()) continue;
      std::vector<ValueLayout>& layouts = kept_layouts_[sizes_.size()];
      for (const ValueUse& use : finders_[value].uses()) {
        if (use.phase != Phase::Forward) continue;
        for (const LayoutRule& rule : rules_[use.consumer.index()]) {
          layouts.push_back(rule.inputs[use.input]);
        }
      }
      std::sort(layouts.begin(), layouts.end());
      layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
      kept_variable_[value] = sizes_.size();
      sizes_.push_back(1 + layouts.size());
    }
  }

  /// Adds a term over the variables of some kernels and the variable `more`.  `cost` computes the
  /// term for the combination of rules in `chosen_`.
  template <class Cost>
  void add_term(const std::vector<KernelId>& kernels, const Cost& cost,
                std::size_t more = kNoVariable) {
    LexicographicSumTerm term;
    for (const KernelId k : kernels) {
      if (sizes_[variable_[k.index()]] > 1) term.variables.push_back(variable_[k.index()]);
    }
    if (more != kNoVariable && sizes_[more] > 1) term.variables.push_back(more);
    std::sort(term.variables.begin(), term.variables.end());
    term.variables.erase(std::unique(term.variables.begin(), term.variables.end()),
                         term.variables.end());
    chosen_.assign(sizes_.size(), 0);
    double combinations = 1.0;
    for (const std::size_t v : term.variables) combinations *= static_cast<double>(sizes_[v]);
    if (combinations > kMostCombinations) {
      throw InternalError("the values of a layer entangle too many kernels");
    }
    for (;;) {
      paced_.check();
      term.values.push_back(cost());
      std::size_t i = term.variables.size();
      for (; i > 0; --i) {
        const std::size_t v = term.variables[i - 1];
        if (++chosen_[v] < sizes_[v]) break;
        chosen_[v] = 0;
      }
      if (i == 0) break;
    }
    terms_.push_back(std::move(term));
  }

  void add_kernels() {
    if (!costs_.kernel) return;
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      add_term({KernelId(k)}, [&] { return costs_.kernel(KernelId(k), rule(KernelId(k))); });
    }
  }

  void add_value(DeliveryFinder& finder) {
    std::vector<KernelId> kernels{finder.producer()};
    for (const ValueUse& use : finder.uses()) kernels.push_back(use.consumer);
    const auto value = static_cast<std::size_t>(&finder - finders_.data());
    add_term(
        kernels, [&] { return deliver(finder, false).cost; },
        kept_variable_.empty() ? kNoVariable : kept_variable_[value]);
  }

  void add_end(const BoundaryValue& end) {
    std::vector<KernelId> kernels{end.producer};
    if (end.source) kernels.push_back(*end.source);
    add_term(kernels, [&] {
      const std::optional<Conversion> conversion = conversion_at(end);
      return conversion && costs_.conversion ? costs_.conversion(*conversion) : LayoutCost{};
    });
  }

  [[nodiscard]] ValueLayout produced(const DeliveryFinder& finder, std::size_t value) const {
    return produced_layout(rule(finder.producer()), graph_.tensor(graph_.values()[value].front()));
  }

  [[nodiscard]] ValueDelivery deliver(DeliveryFinder& finder, bool listed) {
    wanted_.clear();
    for (const ValueUse& use : finder.uses()) {
      wanted_.push_back(rule(use.consumer).inputs[use.input]);
    }
    const auto value = static_cast<std::size_t>(&finder - finders_.data());
    const ValueLayout made = produced(finder, value);
    if (kept_variable_.empty() || kept_variable_[value] == kNoVariable) {
      return finder.deliver(made, wanted_, listed);
    }
    const std::size_t choice = chosen_[kept_variable_[value]];
    const ValueLayout kept =
        choice == 0 ? made : kept_layouts_.at(kept_variable_[value])[choice - 1];
    return finder.deliver_kept(kept, made, wanted_, listed);
  }

  [[nodiscard]] std::optional<Conversion> conversion_at(const BoundaryValue& end) const {
    const ValueLayout from = rule(end.producer).output;
    const ValueLayout to = end.source ? rule(*end.source).output : *end.layout;
    const std::optional<Exchange> exchange = passage(from, to, HeadCopies::None).exchange;
    if (!exchange) return std::nullopt;
    const Kernel& producer = graph_.kernel(end.producer);
    Conversion conversion{.from = from,
                          .to = to,
                          .exchange = *exchange,
                          .phase = producer.phase,
                          .elements = static_cast<double>(producer.outer * producer.m) *
                                      static_cast<double>(producer.n),
                          .producer = end.producer,
                          .consumer = end.source.value_or(end.producer)};
    for (std::size_t value = 0; end.source && value < finders_.size(); ++value) {
      if (finders_[value].producer() == *end.source) conversion.value = value;
    }
    return conversion;
  }

  [[nodiscard]] AxisLayout layout() {
    AxisLayout result;
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      result.rules.push_back(rule(KernelId(k)));
    }
    for (std::size_t value = 0; value < finders_.size(); ++value) {
      const ValueDelivery best = deliver(finders_[value], true);
      result.produced.push_back(produced(finders_[value], value));
      result.kept.push_back(best.kept);
      result.conversions.insert(result.conversions.end(), best.conversions.begin(),
                                best.conversions.end());
    }
    std::stable_sort(result.conversions.begin(), result.conversions.end(),
                     [](const Conversion& a, const Conversion& b) { return a.phase < b.phase; });
    for (const BoundaryValue& end : ends_) {
      if (const auto conversion = conversion_at(end)) result.conversions.push_back(*conversion);
    }
    return result;
  }

  const DataflowGraph& graph_;
  const LayoutCosts& costs_;
  const Deadline& deadline_;
  PacedDeadline paced_;
  std::vector<BoundaryValue> ends_;
  std::vector<std::vector<LayoutRule>> rules_;
  std::vector<std::size_t> variable_;  // by kernel: the first kernel that uses the same weight
  std::vector<std::size_t> sizes_;     // by variable; 1 for further kernels of a weight
  std::vector<DeliveryFinder> finders_;
  std::vector<std::size_t> kept_variable_;  // by value; kNoVariable, or empty: no variable
  std::map<std::size_t, std::vector<ValueLayout>> kept_layouts_;  // by variable
  std::vector<LexicographicSumTerm> terms_;
  std::vector<std::uint8_t> chosen_;
  std::vector<ValueLayout> wanted_;
};

}  // namespace

AxisLayout least_layout(const DataflowGraph& graph, const AxisRules& axis, const LayoutCosts& costs,
                        const Deadline& deadline) {
  return LayoutProblem(graph, axis, costs, deadline).least();
}

std::vector<FrontLayout> layout_front(const DataflowGraph& graph, const AxisRules& axis,
                                      const LayoutCosts& costs, const Deadline& deadline) {
  return LayoutProblem(graph, axis, costs, deadline).front();
}

}  // namespace dfsearch::training
