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

/// The partitions that the phases may have by their index alone.
///
/// Only `phases: halves` of a graph with backward kernels restricts them: forward kernels are in
/// the first half of the partitions, backward ones in the second, and an odd number of them has a
/// middle one that both may have.  Without halves either phase may have all, and any other rule
/// between them is one of kernels, not of indices.
struct PhaseRanges {
  std::int64_t last_forward = 0;    ///< greatest index of a forward kernel
  std::int64_t first_backward = 0;  ///< least index of a backward kernel

  /// Whether an index belongs to both phases.
  [[nodiscard]] bool overlap() const { return first_backward <= last_forward; }
};

/// Whether the phases have halves of the partitions.  (The style kernel_by_kernel never calls it,
/// since all partitions are given.)
bool has_halves(const Problem& problem);

PhaseRanges phase_ranges(const Problem& problem, std::int64_t partitions);

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
