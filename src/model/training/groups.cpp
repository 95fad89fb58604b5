#include "model/training/groups.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/counts.hpp"

namespace dfsearch::training {

namespace {

/// The link of a group of `degree` chips in a dimension.  On a torus, a group that is a part of the
/// dimension is a line; on a mesh it is a ring.
Collectives::Dimension link(const NetworkDimension& dimension, std::int64_t degree) {
  const bool is_part = dimension.both_ways && degree < dimension.degree && !dimension.mesh;
  return {.topology = is_part ? Topology::Line : dimension.topology,
          .degree = static_cast<double>(degree),
          .bandwidth = dimension.bandwidth,
          .latency = dimension.latency,
          .both_ways = dimension.both_ways,
          .on_mesh = dimension.mesh.has_value()};
}

/// The link of a role on a mesh: its ring may share links with others, and its messages may cross
/// several links.
// docs/training.md (14)
Collectives::Dimension link(const NetworkDimension& dimension, const Division& division, Role role,
                            const MeshLoads& loads) {
  const auto r = static_cast<std::size_t>(role);
  Collectives::Dimension ring = link(dimension, division[role]);
  ring.bandwidth = ring.bandwidth / number(loads.own[r]);
  ring.latency = ring.latency * number(loads.hops[r]);
  return ring;
}

/// The most rings that a group may have in a dimension: one, or on a mesh one for each role.
std::size_t most_rings(const Machine& machine, std::size_t d) {
  constexpr std::size_t kMostRolesOfGroup = 3;
  return d < machine.network.size() && machine.network[d].mesh ? kMostRolesOfGroup : 1;
}

/// Adds all ways to place `chips` more chips in the dimensions from `d` on.  Dimension `d` has
/// `open` chips left, for at most `rings` more rings.  On a mesh the places give lower bounds on
/// times, as if rings shared no link and joined neighbours.
void add_places(const Machine& machine, std::size_t d, std::int64_t open, std::size_t rings,
                std::int64_t chips, std::vector<Collectives::Dimension>& links,
                std::vector<Collectives>& places) {
  if (d == machine.network.size()) {
    if (chips == 1) places.emplace_back(links);
    return;
  }
  const std::int64_t next = d + 1 < machine.network.size() ? *machine.network[d + 1].degree : 1;
  add_places(machine, d + 1, next, most_rings(machine, d + 1), chips, links, places);
  if (rings == 0) return;
  for (const std::int64_t degree : divisors(std::gcd(open, chips))) {
    if (degree == 1) continue;
    links.push_back(link(machine.network[d], degree));
    add_places(machine, d, open / degree, rings - 1, chips / degree, links, places);
    links.pop_back();
  }
}

template <class Time>
Seconds least(const std::vector<Collectives>& places, const Time& time) {
  Seconds least = Seconds::infinity();
  for (const Collectives& place : places) least = std::min(least, time(place));
  return least;
}

}  // namespace

Group::Group(const Machine& machine, const std::vector<Division>& network,
             std::initializer_list<Role> roles) {
  std::vector<Collectives::Dimension> links;
  for (std::size_t d = 0; d < network.size(); ++d) {
    if (const std::optional<Mesh>& mesh = machine.network[d].mesh) {
      const MeshLoads loads = loads_of(*mesh, network[d]);
      for (const Role role : network[d].order) {
        if (std::find(roles.begin(), roles.end(), role) == roles.end()) continue;
        links.push_back(link(machine.network[d], network[d], role, loads));
      }
      continue;
    }
    std::int64_t degree = 1;
    for (const Role role : roles) degree *= network[d][role];
    if (degree > 1) links.push_back(link(machine.network[d], degree));
  }
  places_.emplace_back(std::move(links));
}

Group Group::anywhere(const Machine& machine, std::int64_t chips) {
  if (chips == 1) return {};
  std::vector<Collectives> places;
  std::vector<Collectives::Dimension> links;
  if (!machine.network.empty()) {
    add_places(machine, 0, *machine.network[0].degree, most_rings(machine, 0), chips, links,
               places);
  }
  // The chips do not fit in the dimensions, so any lower bound is valid.
  if (places.empty()) return {};
  return Group(std::move(places));
}

// docs/training.md (9)
Seconds Group::time(Exchange exchange, Bytes whole) const {
  if (members() == 1) return {};
  return least(places_, [&](const Collectives& links) {
    switch (exchange) {
      case Exchange::AllGather:
      case Exchange::ReduceScatter:
        return links.all_gather(whole) + links.gather_latency();
      case Exchange::AllReduce:
        return links.all_reduce(whole) + links.all_reduce_latency();
      case Exchange::AllToAll:
        break;
    }
    return links.all_to_all(whole / static_cast<double>(members())) + links.exchange_latency();
  });
}

Seconds Group::hop(Bytes message) const {
  if (members() == 1) return {};
  return least(places_, [&](const Collectives& links) {
    return links.point_to_point(message) + links.message_latency();
  });
}

Groups::Groups(const Machine& machine, const std::vector<Division>& network)
    : tensor(machine, network, {Role::Tensor}),
      context(machine, network, {Role::Context}),
      expert(machine, network, {Role::Expert}),
      pipeline(machine, network, {Role::Pipeline}),
      replicas(machine, network, {Role::Context, Role::Expert, Role::Data}),
      expert_replicas(machine, network, {Role::Context, Role::Data}) {
  for (const Role role : kRoles) {
    GroupReach& of_role = reach[static_cast<std::size_t>(role)];
    for (std::size_t d = 0; d < network.size(); ++d) {
      of_role.members *= network[d][role];
      if (d == 0) of_role.inside = network[d][role];
    }
  }
}

Groups Groups::anywhere(const Machine& machine, const Degrees& degrees) {
  Groups groups;
  const std::int64_t domain = machine.network.empty() ? 1 : *machine.network.front().degree;
  for (const Role role : kRoles) {
    groups.reach[static_cast<std::size_t>(role)] = {
        .members = degrees[role], .inside = 0, .domain = domain};
  }
  groups.tensor = Group::anywhere(machine, degrees[Role::Tensor]);
  groups.context = Group::anywhere(machine, degrees[Role::Context]);
  groups.expert = Group::anywhere(machine, degrees[Role::Expert]);
  groups.pipeline = Group::anywhere(machine, degrees[Role::Pipeline]);
  const std::int64_t same_experts = degrees[Role::Context] * degrees[Role::Data];
  groups.replicas = Group::anywhere(machine, same_experts * degrees[Role::Expert]);
  groups.expert_replicas = Group::anywhere(machine, same_experts);
  return groups;
}

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

/// A placement of a division and the loads of its roles.  `replicas` has the order of the roles
/// that share groups, since each of them gathers the values that the roles further in have gathered
/// (docs/model.md (13)).
struct Placed {
  Division division;
  MeshLoads loads;
  std::vector<Role> replicas = {};
};

bool no_worse(const Placed& a, const Placed& b) {
  return a.replicas == b.replicas &&
         std::equal(a.loads.own.begin(), a.loads.own.end(), b.loads.own.begin(),
                    std::less_equal<>()) &&
         std::equal(a.loads.hops.begin(), a.loads.hops.end(), b.loads.hops.begin(),
                    std::less_equal<>());
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
  std::vector<Placed> unbeaten;
  for (const MeshPlacement& placement : mesh_placements(mesh, axes_of(degrees))) {
    Placed placed{.division = {degrees, {}, placement.fill}, .loads = {}};
    for (const std::size_t r : placement.order) {
      const Role role = kRoles[r];
      placed.division.order.push_back(role);
      if (role == Role::Context || role == Role::Expert || role == Role::Data) {
        placed.replicas.push_back(role);
      }
    }
    placed.loads = loads_of(mesh, placed.division);
    const auto beats = [&](const Placed& other) { return no_worse(other, placed); };
    if (std::any_of(unbeaten.begin(), unbeaten.end(), beats)) continue;
    std::erase_if(unbeaten, [&](const Placed& other) { return no_worse(placed, other); });
    unbeaten.push_back(std::move(placed));
  }
  std::vector<Division> divisions;
  for (Placed& placed : unbeaten) divisions.push_back(std::move(placed.division));
  return divisions;
}

}  // namespace dfsearch::training
