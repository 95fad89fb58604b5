#pragma once
// The roles of a plan on the chips of a mesh (docs/training.md, section 5).

#include <vector>

#include "model/machine/mesh_placement.hpp"
#include "model/training/plan.hpp"

namespace dfsearch::training {

/// Per role: how many of its messages share a link, by the sharing of the mesh, and the most links
/// that one of them crosses.
MeshLoads loads_of(const Mesh& mesh, const Division& division);

/// The ways to place a division into so many roles that no other beats in any link or hop of any
/// role, and of equal ones the first: some best step has one of them.
std::vector<Division> unbeaten_divisions(const Mesh& mesh, const Degrees& degrees);

}  // namespace dfsearch::training
