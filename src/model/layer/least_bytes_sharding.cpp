// The sharding of least communicated bytes, exactly.
//
// Bytes are a sum of one term per kernel (its own all-reduce) and one per tensor or
// value (its conversions to other layouts) over the kernels with a choice; loops are
// numbered in the order of preference, so that ties break as they should.
//
// Against brute force: tests/model/layer/least_bytes_sharding_test.cpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/least_sum.hpp"
#include "model/layer/least_bytes_sharding.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

// Elementary steps before the graph is declared too entangled: some seconds.
// Layers of transformers, experts and the like take less than a thousandth.
constexpr double kMostSteps = 4e9;
// Elements in place of bytes: whole numbers, so that ties are exact whatever the word.
constexpr Bytes kElement(1.0);

/// The choices of a problem as variables and terms.
struct Choices {
  std::vector<std::vector<Loop>> loops;  // per kernel
  std::vector<std::size_t> sizes;        // their number
  std::vector<SumTerm> terms;
};

/// Adds a term over some kernels, with its value for all their loops.
template <class Bytes>
void add_term(Choices& choices, std::vector<std::size_t> kernels, const Bytes& bytes) {
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  SumTerm term;
  for (const std::size_t k : kernels) {
    if (choices.sizes[k] > 1) term.variables.push_back(k);
  }
  std::vector<Loop> sharding;  // of all kernels, of which the term looks at these
  for (const std::vector<Loop>& loops : choices.loops) sharding.push_back(loops.front());
  std::vector<std::size_t> chosen(term.variables.size(), 0);
  for (;;) {
    term.values.push_back(bytes(sharding));
    std::size_t i = chosen.size();
    for (; i > 0; --i) {
      const std::size_t k = term.variables[i - 1];
      chosen[i - 1] = (chosen[i - 1] + 1) % choices.sizes[k];
      sharding[k] = choices.loops[k][chosen[i - 1]];
      if (chosen[i - 1] > 0) break;
    }
    if (i == 0) break;
  }
  choices.terms.push_back(std::move(term));
}

/// Elements that the tensors of a value take together: each layout once.
double converted_elements(const Problem& problem, const std::vector<TensorId>& value,
                          const std::vector<Loop>& sharding) {
  const DataflowGraph& graph = problem.workload.graph;
  std::array<bool, 3> is_paid{};  // by layout
  double elements = 0.0;
  for (const TensorId t : value) {
    const Tensor& tensor = graph.tensor(t);
    const Loop to = sharding[tensor.to.index()];
    const Layout wanted = wanted_layout(problem, tensor, to);
    if (std::exchange(is_paid[static_cast<std::size_t>(wanted)], true)) continue;
    elements += conversion_bytes(problem, tensor, sharding[tensor.from.index()], to, kElement)
                    .in_base_units();
  }
  return elements;
}

Choices choices_of(const Problem& problem) {
  const DataflowGraph& graph = problem.workload.graph;
  Choices choices;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    choices.loops.push_back(pinned ? std::vector{*problem.sharding_pins[i]}
                                   : shardable_loops(kernel));
    choices.sizes.push_back(choices.loops[i].size());
  }
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    add_term(choices, {i}, [&](const std::vector<Loop>& sharding) {
      return own_bytes(graph.kernels()[i], sharding[i], kElement).in_base_units();
    });
  }
  for (const std::vector<TensorId>& value : converted_together(problem)) {
    std::vector<std::size_t> ends{graph.tensor(value.front()).from.index()};
    for (const TensorId t : value) ends.push_back(graph.tensor(t).to.index());
    add_term(choices, ends, [&](const std::vector<Loop>& sharding) {
      return converted_elements(problem, value, sharding);
    });
  }
  return choices;
}

}  // namespace

// docs/model.md (12)
std::vector<Loop> least_bytes_sharding(const Problem& problem, const Deadline& deadline) {
  const Choices choices = choices_of(problem);
  const auto best = least_sum(choices.sizes, choices.terms, kMostSteps, deadline);
  if (!best) {
    throw InputError(
        "sharding: the tensors entangle too many kernels for an exact least_bytes sharding, "
        "expected sharding pins for some of them");
  }
  std::vector<Loop> sharding;
  for (std::size_t k = 0; k < choices.loops.size(); ++k) {
    sharding.push_back(choices.loops[k][(*best)[k]]);
  }
  return sharding;
}

}  // namespace dfsearch
