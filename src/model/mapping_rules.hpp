#pragma once
// The rules that a mapping must keep apart from costs: its form, and where the kernels of each
// phase may be (docs/model.md (11)).

#include <cstdint>
#include <optional>
#include <string>

#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The indices of partitions that each phase may have.
///
/// Only `phases: halves` of a graph with backward kernels restricts indices: forward kernels are in
/// the first half of the partitions, backward kernels in the second half, and the middle one of an
/// odd number of partitions may have both.  Otherwise each phase may have all partitions, and rules
/// between phases are about kernels, not about indices.
struct PhaseRanges {
  std::int64_t last_forward = 0;    ///< greatest index of a forward kernel
  std::int64_t first_backward = 0;  ///< least index of a backward kernel

  /// Whether an index belongs to both phases.
  [[nodiscard]] bool overlap() const { return first_backward <= last_forward; }
};

/// Whether each phase has its half of the partitions.  (Code for the style kernel_by_kernel does
/// not call it, since all partitions are given.)
bool has_halves(const Problem& problem);

PhaseRanges phase_ranges(const Problem& problem, std::int64_t partitions);

/// Throws InputError unless there is one entry for every kernel, grids of at least one
/// core each, and a network that the problem allows.
void check_form(const Problem& problem, const Mapping& mapping);

/// The first rule that the mapping breaks, or nothing.  Needs a mapping that passes
/// check_form.
std::optional<Infeasible> broken_rule(const Problem& problem, const Mapping& mapping);

/// The report of a broken rule, in counts or indices.
Infeasible violation(Resource resource, std::int64_t needed, std::int64_t available,
                     std::string where);

}  // namespace dfsearch
