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
  std::string_view searched_by;  ///< "search.sharding: joint"; empty: nothing has it searched

  friend bool operator==(const FixedBeforehand&, const FixedBeforehand&) = default;
};

/// The decisions fixed beforehand.  If there are none, a proof covers all that the config leaves
/// open.
using Scope = std::vector<FixedBeforehand>;

/// Whether some kernel has a choice of loops and some network splits kernels; `networks` belong to
/// the problem.  Otherwise all shardings cost the same.
bool sharding_matters(const Problem& problem, const std::vector<NetworkChoice>& networks);

/// The scope of a search for mappings.  It contains the sharding if a rule takes it and it matters.
Scope scope_of(const Problem& problem, const std::vector<NetworkChoice>& networks);

/// "sharding: least_bytes, other: rule"; the scope is not empty.
std::string names_of(const Scope& scope);

/// " for A and B" after "proved"; nothing where the scope is empty.
std::string proved_for(const Scope& scope);

/// "other shardings (search.sharding: joint) were not tried"; the scope is not empty.
std::string untried(const Scope& scope);

/// In the words of reports and results; empty if everything is counted.
std::vector<std::string_view> not_counted_in_memory(const Problem& problem);

/// Logarithms to base 10 of the numbers of choices, without the rules between them: as the
/// DFModel paper (Ko et al.) counts its space of 10^295.
struct DesignSpace {
  double shardings = 0.0;         ///< loops of every kernel
  double partitions = 0.0;        ///< one of every kernel
  double stages = 0.0;            ///< one of every kernel, where they divide the graph
  double lanes_and_stages = 0.0;  ///< of the grid of cores of every kernel

  [[nodiscard]] double total() const { return shardings + partitions + stages + lanes_and_stages; }
};

/// The space for one layer at one network, the one with most stages, micro-batch and tile; pinned
/// decisions are no choices.
DesignSpace design_space(const Problem& problem);

}  // namespace dfsearch
