#pragma once
// Whether a mapping is one at all, and whether it keeps the rules that ask for no
// costs: batch and tile, loops, order of the partitions, phases and pins.

#include <cstdint>
#include <optional>
#include <string>

#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Throws InputError unless there is one entry for every kernel, grids of at least one
/// core each, and a network that the problem allows.
void check_form(const Problem& problem, const Mapping& mapping);

/// The first rule that the mapping breaks, or nothing.  Needs a mapping that passes
/// check_form.
std::optional<Infeasible> broken_rule(const Problem& problem, const Mapping& mapping);

/// A rule that is broken, in counts or indices.
Infeasible violation(Resource resource, std::int64_t needed, std::int64_t available,
                     std::string where);

}  // namespace dfsearch
