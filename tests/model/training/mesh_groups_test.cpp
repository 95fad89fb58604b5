// Placements on a mesh that the search leaves out, against all of them.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "model/training/groups.hpp"

namespace dfsearch::training {
namespace {

using Times = std::array<Seconds, 6>;

/// The times of the groups of a plan, whatever they exchange.
Times times_of(const Machine& machine, const Division& division) {
  const Groups groups(machine, {division});
  const auto gather = [](const Group& group) {
    return group.time(Exchange::AllGather, Bytes(1e9));
  };
  return {gather(groups.tensor),           groups.context.hop(Bytes(1e9)), gather(groups.expert),
          groups.pipeline.hop(Bytes(1e9)), gather(groups.expert_replicas), gather(groups.replicas)};
}

/// Sums in another order round.
bool no_later(const Times& a, const Times& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](Seconds x, Seconds y) { return x <= y * (1.0 + 1e-12); });
}

std::vector<Degrees> degrees_of(std::int64_t chips) {
  std::vector<Degrees> all;
  for (const std::int64_t context : divisors(chips)) {
    for (const std::int64_t expert : divisors(chips / context)) {
      for (const std::int64_t data : divisors(chips / context / expert)) {
        Degrees degrees;
        degrees[Role::Context] = context;
        degrees[Role::Expert] = expert;
        degrees[Role::Data] = data;
        degrees[Role::Tensor] = chips / context / expert / data;
        all.push_back(degrees);
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("each placement on a mesh has an unbeaten one that is as fast in every group") {
  std::size_t placements = 0, unbeaten_ones = 0;
  for (const Mesh& sides : {Mesh{2, 3}, Mesh{4, 4}, Mesh{6, 2}, Mesh{8, 3}, Mesh{1, 12}}) {
    for (const bool closed : {false, true}) {
      for (const auto& [sharing, both_ways] :
           {std::pair{MeshSharing::Own, false}, std::pair{MeshSharing::All, true},
            std::pair{MeshSharing::Own, true}, std::pair{MeshSharing::All, false}}) {
        Machine machine;
        machine.chips = sides.chips();
        const Mesh mesh{sides.width, sides.height, closed, sharing};
        machine.network = {{.topology = Topology::Ring,
                            .degree = machine.chips,
                            .bandwidth = BytesPerSecond(1e9),
                            .latency = Seconds(0.1),
                            .mesh = mesh,
                            .both_ways = both_ways}};
        for (const Degrees& degrees : degrees_of(mesh.chips())) {
          CAPTURE(degrees[Role::Context]);
          CAPTURE(degrees[Role::Expert]);
          CAPTURE(degrees[Role::Data]);
          std::vector<Times> unbeaten;
          for (const Division& kept : unbeaten_divisions(mesh, degrees)) {
            unbeaten.push_back(times_of(machine, kept));
          }
          unbeaten_ones += unbeaten.size();
          std::vector<MeshAxis> axes;
          for (const Role role : kRoles) {
            axes.push_back({.extent = degrees[role], .open = role == Role::Pipeline});
          }
          for (const MeshPlacement& placement : mesh_placements(mesh, axes)) {
            Division division{degrees, {}, placement.fill};
            for (const std::size_t role : placement.order) division.order.push_back(kRoles[role]);
            const Times times = times_of(machine, division);
            CHECK(std::any_of(unbeaten.begin(), unbeaten.end(),
                              [&](const Times& kept) { return no_later(kept, times); }));
            ++placements;
          }
        }
      }
    }
  }
  CHECK(placements > 2 * unbeaten_ones);
}

}  // namespace dfsearch::training
