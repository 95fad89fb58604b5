// The sharding of least communicated bytes, exactly.
//
// Bytes are a sum of a term for each kernel (its own all-reduce) and a term for each tensor or
// value (its conversions to other layouts), over the kernels with a choice.  Loops are
// numbered in the order of preference, so ties go to the preferred loops.  The number of steps is
// known before the first step, so a graph that is too entangled is refused at once.  If no network
// splits any kernel, all shardings cost the same, and such a graph gets the first loops instead.
//
// Tested against brute force: tests/model/layer/least_bytes_sharding_test.cpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/least_sum.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"

namespace dfsearch {
namespace {

// Elementary steps before the graph is declared too entangled: some seconds.
// Layers of transformers, experts and the like take less than a thousandth.
constexpr double kMostSteps = 4e9;
// Elementary steps if no network splits any kernel: some ten milliseconds.
constexpr double kMostStepsForNothing = 5e6;
// Most combinations of loops of a value's kernels; with more, its layouts become variables.
constexpr double kMostCombinations = 256.0;
// Elements in place of bytes: whole numbers, so that ties are exact whatever the word.
constexpr Bytes kElement(1.0);

/// The choices of a problem as variables and terms: first a variable for each kernel, then
/// variables of two values, which state whether a value is converted to a layout.
class Choices {
 public:
  explicit Choices(const Problem& problem) : problem_(problem), graph_(problem.workload.graph) {
    for (std::size_t i = 0; i < graph_.kernel_count(); ++i) {
      const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
      const std::vector<Loop> loops = shardable_loops(graph_.kernels()[i]);
      loops_.push_back(pinned ? std::vector{*problem.sharding_pins[i]}
                              : std::vector<LoopPair>(loops.begin(), loops.end()));
      sizes_.push_back(loops_.back().size());
      sharding_.push_back(loops_.back().front());
    }
    for (std::size_t i = 0; i < graph_.kernel_count(); ++i) {
      add_term({i}, [&] {
        return own_bytes(problem_, graph_.kernels()[i], sharding_[i], kElement).in_base_units();
      });
    }
    for (const std::vector<TensorId>& value : converted_together(problem)) add_value(value);
    for (const Tensor& seam : charged_seams(problem)) {
      add_term({seam.from.index(), seam.to.index()}, [&] {
        return conversion_bytes(problem, seam, sharding_[seam.from.index()],
                                sharding_[seam.to.index()], kElement)
            .in_base_units();
      });
    }
  }

  [[nodiscard]] const std::vector<LoopPair>& first() const { return sharding_; }

  /// The sharding of least bytes; nothing if it takes more than `most_steps` to find.
  [[nodiscard]] std::optional<std::vector<LoopPair>> best(double most_steps,
                                                          const Deadline& deadline) const {
    const auto values = least_sum(sizes_, terms_, most_steps, deadline);
    if (!values) return std::nullopt;
    std::vector<LoopPair> sharding;
    for (std::size_t k = 0; k < loops_.size(); ++k) sharding.push_back(loops_[k][(*values)[k]]);
    return sharding;
  }

 private:
  /// Adds a term over some kernels.  `bytes` returns the value of the term for the loops in
  /// `sharding_`, and is called for each combination of loops.  A constant term is left out.
  template <class Bytes>
  void add_term(std::vector<std::size_t> kernels, const Bytes& bytes) {
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    SumTerm term;
    for (const std::size_t k : kernels) {
      if (sizes_[k] > 1) term.variables.push_back(k);
    }
    std::vector<std::size_t> chosen(term.variables.size(), 0);
    for (;;) {
      term.values.push_back(bytes());
      std::size_t i = chosen.size();
      for (; i > 0; --i) {
        const std::size_t k = term.variables[i - 1];
        chosen[i - 1] = (chosen[i - 1] + 1) % sizes_[k];
        sharding_[k] = loops_[k][chosen[i - 1]];
        if (chosen[i - 1] > 0) break;
      }
      if (i == 0) break;
    }
    const auto differs = [&](double value) { return value != term.values.front(); };
    if (std::any_of(term.values.begin(), term.values.end(), differs)) {
      terms_.push_back(std::move(term));
    }
  }

  /// Adds the terms of a value, whose tensors together pay for each layout once.
  void add_value(const std::vector<TensorId>& value) {
    std::vector<std::size_t> ends{graph_.tensor(value.front()).from.index()};
    double combinations = static_cast<double>(sizes_[ends.front()]);
    for (const TensorId t : value) {
      ends.push_back(graph_.tensor(t).to.index());
      combinations *= static_cast<double>(sizes_[ends.back()]);
    }
    if (combinations > kMostCombinations) {
      for (std::size_t layout = 0; layout < kLayouts; ++layout) add_layout(value, layout);
    } else {
      add_term(std::move(ends), [&] { return converted_elements(value); });
    }
  }

  [[nodiscard]] std::size_t wanted(TensorId t, LoopPair consumer) const {
    return static_cast<std::size_t>(wanted_layout(problem_, graph_.tensor(t), consumer.loops[0]));
  }

  [[nodiscard]] double converted(TensorId t, LoopPair consumer) const {
    const Tensor& tensor = graph_.tensor(t);
    return conversion_bytes(problem_, tensor, sharding_[tensor.from.index()], consumer, kElement)
        .in_base_units();
  }

  [[nodiscard]] double converted_elements(const std::vector<TensorId>& value) const {
    std::array<bool, kLayouts> is_paid{};
    double elements = 0.0;
    for (const TensorId t : value) {
      const LoopPair to = sharding_[graph_.tensor(t).to.index()];
      if (std::exchange(is_paid[wanted(t, to)], true)) continue;
      elements += converted(t, to);
    }
    return elements;
  }

  /// Adds the terms of a value for one layout, if consumers have too many combinations of loops.  A
  /// variable states whether the value is converted to the layout: if so, the conversion is paid
  /// for; if not, no consumer may require the layout.  The variable comes after all kernels, so
  /// ties among kernels do not change.
  void add_layout(const std::vector<TensorId>& value, std::size_t layout) {
    const std::size_t producer = graph_.tensor(value.front()).from.index();
    const std::size_t made = sizes_.size();
    std::optional<std::pair<TensorId, LoopPair>> wanting;
    for (const TensorId t : value) {
      const std::size_t k = graph_.tensor(t).to.index();
      SumTerm needs{.variables = {made}, .values = {}};
      if (sizes_[k] > 1) needs.variables.insert(needs.variables.begin(), k);
      bool is_wanted = false;
      for (const LoopPair loop : loops_[k]) {
        const bool now = wanted(t, loop) == layout;
        if (now) wanting.emplace(t, loop);
        is_wanted = is_wanted || now;
        needs.values.push_back(now ? std::numeric_limits<double>::infinity() : 0.0);
        needs.values.push_back(0.0);
      }
      if (is_wanted) terms_.push_back(std::move(needs));
    }
    if (!wanting) return;
    sizes_.push_back(2);
    SumTerm price{.variables = {made}, .values = {}};
    if (sizes_[producer] > 1) price.variables.insert(price.variables.begin(), producer);
    const LoopPair first = sharding_[producer];
    for (const LoopPair loop : loops_[producer]) {
      sharding_[producer] = loop;
      price.values.push_back(0.0);
      price.values.push_back(converted(wanting->first, wanting->second));
    }
    sharding_[producer] = first;
    terms_.push_back(std::move(price));
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  std::vector<std::vector<LoopPair>> loops_;  // per kernel
  std::vector<std::size_t> sizes_;            // the number of loops, then 2 for each layout
  std::vector<LoopPair> sharding_;            // the first loops, except while terms are filled
  std::vector<SumTerm> terms_;
};

/// Whether some network may split kernels over chips.
bool may_split(const Problem& problem) {
  const DegreeChoice& degree = problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)];
  const auto is_one = [](std::int64_t value) { return value <= 1; };
  const bool all_one =
      !degree.values.empty() && std::all_of(degree.values.begin(), degree.values.end(), is_one);
  if (problem.chips_per_copy() == 1 || degree.most <= 1 || all_one) return false;
  const std::vector<NetworkDimension>& network = problem.system.network;
  for (std::size_t d = 0; d < network.size(); ++d) {
    const bool may_serve =
        given_strategy(problem, d).value_or(Strategy::Tensor) == Strategy::Tensor;
    if (may_serve && network[d].degree.value_or(2) > 1) return true;
  }
  return false;
}

}  // namespace

// docs/model.md (12)
std::vector<LoopPair> least_bytes_sharding(const Problem& problem, const Deadline& deadline) {
  const Choices choices(problem);
  const bool matters = may_split(problem);
  auto best = choices.best(matters ? kMostSteps : kMostStepsForNothing, deadline);
  if (best) return std::move(*best);
  if (!matters) return choices.first();
  throw InputError(
      "sharding: the tensors entangle too many kernels for an exact least_bytes sharding, "
      "expected sharding pins for some of them");
}

}  // namespace dfsearch
