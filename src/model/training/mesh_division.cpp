#include "model/training/mesh_division.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace dfsearch::training {
namespace {

using Axes = std::array<MeshAxis, kRoles.size()>;

Axes axes_of(const Degrees& degrees) {
  Axes axes;
  for (const Role role : kRoles) {
    axes[static_cast<std::size_t>(role)] = {.extent = degrees[role],
                                            .open = role == Role::Pipeline};
  }
  return axes;
}

bool no_worse(const MeshLoads& a, const MeshLoads& b) {
  return std::equal(a.own.begin(), a.own.end(), b.own.begin(), std::less_equal<>()) &&
         std::equal(a.hops.begin(), a.hops.end(), b.hops.begin(), std::less_equal<>());
}

}  // namespace

MeshLoads loads_of(const Mesh& mesh, const Division& division) {
  MeshPlacement placement{.order = {}, .fill = division.fill};
  for (const Role role : division.order) placement.order.push_back(static_cast<std::size_t>(role));
  MeshLoads loads = mesh_loads(mesh, axes_of(division), placement);
  if (mesh.sharing == MeshSharing::All) {
    for (const std::size_t role : placement.order) loads.own[role] = loads.all;
  }
  return loads;
}

std::vector<Division> unbeaten_divisions(const Mesh& mesh, const Degrees& degrees) {
  std::vector<std::pair<Division, MeshLoads>> unbeaten;
  for (const MeshPlacement& placement : mesh_placements(mesh, axes_of(degrees))) {
    Division division{degrees, {}, placement.fill};
    for (const std::size_t role : placement.order) division.order.push_back(kRoles[role]);
    const MeshLoads loads = loads_of(mesh, division);
    const auto beats = [&](const auto& other) { return no_worse(other.second, loads); };
    if (std::any_of(unbeaten.begin(), unbeaten.end(), beats)) continue;
    std::erase_if(unbeaten, [&](const auto& other) { return no_worse(loads, other.second); });
    unbeaten.emplace_back(std::move(division), loads);
  }
  std::vector<Division> divisions;
  for (auto& [division, loads] : unbeaten) divisions.push_back(std::move(division));
  return divisions;
}

}  // namespace dfsearch::training
