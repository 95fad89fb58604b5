// The sharding of least communicated bytes, exactly.
//
// Bytes are a sum of one term per kernel (its own all-reduce) and one per tensor
// (the conversion between two layouts) over the kernels with a choice; loops are
// numbered in the order of preference, so that ties break as they should.
//
// Against brute force: tests/model/layer/least_bytes_sharding_test.cpp.

#include <algorithm>
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

/// The choices of a problem as variables and terms.
struct Choices {
  std::vector<std::vector<Loop>> loops;  // per kernel
  std::vector<std::size_t> sizes;        // their number
  std::vector<SumTerm> terms;
};

/// A term over the kernels among `kernels` (ascending) that have a choice.
template <class Bytes>
void add_term(Choices& choices, const std::vector<std::size_t>& kernels, const Bytes& bytes) {
  SumTerm term;
  for (const std::size_t k : kernels) {
    if (choices.sizes[k] > 1) term.variables.push_back(k);
  }
  const std::vector<Loop>& first = choices.loops[kernels.front()];
  const std::vector<Loop>& last = choices.loops[kernels.back()];
  for (const Loop a : first) {
    if (kernels.size() == 1) {
      term.values.push_back(bytes(a, a));
      continue;
    }
    for (const Loop b : last) term.values.push_back(bytes(a, b));
  }
  choices.terms.push_back(std::move(term));
}

Choices choices_of(const Problem& problem) {
  const DataflowGraph& graph = problem.workload.graph;
  // Elements in place of bytes: whole numbers, so that ties are exact whatever
  // the word.
  const Bytes word(1.0);
  Choices choices;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    choices.loops.push_back(pinned ? std::vector{*problem.sharding_pins[i]}
                                   : shardable_loops(kernel));
    choices.sizes.push_back(choices.loops[i].size());
  }
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    add_term(choices, {i}, [&](Loop loop, Loop) {
      return own_bytes(graph.kernels()[i], loop, word).in_base_units();
    });
  }
  for (const Tensor& tensor : graph.tensors()) {
    const bool forwards = tensor.from < tensor.to;
    std::vector<std::size_t> ends{tensor.from.index(), tensor.to.index()};
    if (!forwards) std::swap(ends[0], ends[1]);
    add_term(choices, ends, [&](Loop a, Loop b) {
      return conversion_bytes(graph, tensor, forwards ? a : b, forwards ? b : a, word)
          .in_base_units();
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
