#pragma once
// The extent of a search: the number of choices, the scope of a proof, and memory that the model
// leaves out.

#include <string>
#include <string_view>
#include <vector>

#include "model/machine/network_choices.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// A decision that a stated rule takes before the search, in words for results.  All texts are
/// constants, so they outlive every result.
struct FixedBeforehand {
  std::string_view name;         ///< the decision and its rule: "sharding: least_bytes"
  std::string_view proved_for;   ///< "the sharding that communicates least"
  std::string_view untried;      ///< "other shardings"
  std::string_view searched_by;  ///< "search.sharding: joint"; empty if no key has it searched

  friend bool operator==(const FixedBeforehand&, const FixedBeforehand&) = default;
};

/// The decisions fixed beforehand.  If there are none, a proof covers all that the config leaves
/// open.
using Scope = std::vector<FixedBeforehand>;

/// Whether some kernel has a choice of loops and some network splits kernels; `networks` belong to
/// the problem.  Otherwise all shardings cost the same.
bool sharding_matters(const Problem& problem, const std::vector<NetworkChoice>& networks);

/// The scope of a search for mappings: the sharding, if a rule decides it and shardings differ in
/// cost; and for HPL the restriction to trailing updates.
Scope scope_of(const Problem& problem, const std::vector<NetworkChoice>& networks);

/// "sharding: least_bytes, other: rule"; the scope is not empty.
std::string names_of(const Scope& scope);

/// " for A and B" after "proved"; nothing where the scope is empty.
std::string proved_for(const Scope& scope);

/// "other shardings (search.sharding: joint) were not tried"; the scope is not empty.
std::string untried(const Scope& scope);

/// The memory that the model leaves out, in the words of reports; empty if all is counted.
std::vector<std::string_view> not_counted_in_memory(const Problem& problem);

/// Logarithms to base 10 of the numbers of choices, without the rules between choices.  The DFModel
/// paper (Ko et al.) counts its space of 10^295 in this way.
struct DesignSpace {
  double shardings = 0.0;         ///< the loops of every kernel
  double partitions = 0.0;        ///< the partition of every kernel
  double stages = 0.0;            ///< the stage of every kernel, if stages divide the graph
  double lanes_and_stages = 0.0;  ///< the grid of cores of every kernel

  [[nodiscard]] double total() const { return shardings + partitions + stages + lanes_and_stages; }
};

/// The space of one layer for one micro-batch, one tile and one network, which is the network with
/// the most stages.  Pinned decisions do not count.
DesignSpace design_space(const Problem& problem);

}  // namespace dfsearch
