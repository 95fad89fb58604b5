// Plans on a mesh against plain enumeration: every order of the roles and every fill.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "engine/training/find_plan.hpp"
#include "engine/training/plan_space.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/groups.hpp"
#include "model/training/layout_shelf.hpp"
#include "model/training/step.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

/// Every division of the degrees with every place on the mesh.
std::vector<std::vector<Division>> all_networks(const Task& task, const Degrees& degrees) {
  std::vector<std::vector<Division>> networks;
  for (const Role outside : kRoles) {
    const bool has_outer = task.machine.network.size() > 1;
    if (has_outer && degrees[outside] % 2 != 0) continue;
    if (!has_outer && outside != Role::Tensor) continue;
    Division mesh{degrees, {}, {}};
    Division outer;
    if (has_outer) {
      mesh[outside] /= 2;
      outer[outside] = 2;
    }
    for (const Role role : kRoles) {
      if (mesh[role] > 1) mesh.order.push_back(role);
    }
    do {
      for (const MeshFill fill : kMeshFills) {
        mesh.fill = fill;
        networks.push_back(has_outer ? std::vector{mesh, outer} : std::vector{mesh});
      }
    } while (std::next_permutation(mesh.order.begin(), mesh.order.end()));
  }
  return networks;
}

std::optional<Seconds> least_step_on_mesh(const Task& task, std::int64_t& networks) {
  const PlanSpace space(task);
  LayoutShelf shelf(task, space.blocks());
  std::optional<Seconds> best;
  for (const Degrees& inner : space.inner_degrees()) {
    for (const Degrees& degrees : space.degrees(inner)) {
      const auto all = all_networks(task, degrees);
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const TensorLayout layout : space.layouts(degrees, shelf)) {
          const Profiles profiles = shelf.profiles(degrees, layout, micro_batch);
          for (const Plan& plan : space.shapes(degrees, micro_batch, layout)) {
            const StepModel model(task, plan, profiles, space.blocks().order);
            for (const std::vector<Division>& network : all) {
              ++networks;
              const auto step = model.step(Groups(task.machine, network));
              if (step && (!best || step->step < *best)) best = step->step;
            }
          }
        }
      }
    }
  }
  return best;
}

TEST_CASE("the best plan on a mesh is that of trying every order and fill" *
          doctest::test_suite("slow")) {
  int feasible = 0;
  std::int64_t networks = 0;
  int snakes = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Task task = test::random_task_on_mesh(seed);
    const std::optional<Seconds> best = least_step_on_mesh(task, networks);
    feasible += best.has_value();
    for (const int threads : {1, 2, 8}) {
      CAPTURE(threads);
      const PlanResult found = find_plan(task, {.threads = threads});
      REQUIRE(found.plan.has_value() == best.has_value());
      if (!best) continue;
      CHECK(found.status == SearchStatus::Optimal);
      CHECK(found.cost->step_time == *best);
      CHECK(found.lower_bound.in_base_units() == best->in_base_units());
      const auto verdict = evaluate(task, blocks_of(task), *found.plan);
      REQUIRE(std::holds_alternative<Cost>(verdict));
      CHECK(std::get<Cost>(verdict).step_time == *best);
      snakes += found.plan->network.front().fill == MeshFill::Snake;
    }
  }
  CHECK(feasible > 100);
  CHECK(networks > 10'000);
  CHECK(snakes > 0);
}

TEST_CASE("a transposed mesh has the same best step") {
  int feasible = 0, oblong = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Task task = test::random_task_on_mesh(seed);
    const PlanResult found = find_plan(task, {});
    Mesh& mesh = *task.machine.network.front().mesh;
    std::swap(mesh.width, mesh.height);
    const PlanResult transposed = find_plan(task, {});
    REQUIRE(found.plan.has_value() == transposed.plan.has_value());
    if (!found.plan) continue;
    ++feasible;
    oblong += std::min(mesh.width, mesh.height) > 1 && mesh.width != mesh.height;
    CHECK(found.cost->step_time == transposed.cost->step_time);
    CHECK(found.lower_bound.in_base_units() == transposed.lower_bound.in_base_units());
  }
  CHECK(feasible > 50);
  CHECK(oblong > 10);
}

TEST_CASE(
    "a ring on a mesh has its share of a link, and messages cross as many links as lie between") {
  Machine machine;
  machine.chips = 64;
  machine.network = {{.degree = 64,
                      .bandwidth = BytesPerSecond(8.0),
                      .latency = Seconds(1.0),
                      .mesh = Mesh{.width = 8, .height = 8}}};
  Division division;
  division[Role::Tensor] = 4;
  division[Role::Data] = 16;
  division.order = {Role::Data, Role::Tensor};
  division.fill = MeshFill::Snake;
  // The division is (4, 16) on 8 x 8: data has every link for itself, tensor shares it with three
  // others.
  const Groups groups(machine, {division});
  const Seconds gather = groups.tensor.time(Exchange::AllGather, Bytes(32.0));
  const MeshLoads loads =
      mesh_loads(*machine.network[0].mesh, std::vector<MeshAxis>{{.extent = 4}, {.extent = 16}},
                 {.order = {1, 0}, .fill = MeshFill::Snake});
  REQUIRE(loads.own == std::vector<std::int64_t>{4, 1});
  // Three of four parts at a fourth of the bandwidth, and three messages.
  CHECK(gather == Seconds(0.75 * 32.0 / 2.0 + 3.0 * static_cast<double>(loads.hops[0])));
}

TEST_CASE(
    "rings of a mesh use both directions of its links and take turns, an outer ring as well") {
  const NetworkDimension mesh{.degree = 64,
                              .bandwidth = BytesPerSecond(8.0),
                              .latency = Seconds(1.0),
                              .mesh = Mesh{.width = 8, .height = 8},
                              .both_ways = true};
  Division division;
  division[Role::Tensor] = 2;
  division[Role::Context] = 4;
  division[Role::Data] = 8;
  division.order = {Role::Tensor, Role::Context, Role::Data};
  Division outside;
  outside[Role::Data] = 4;
  Machine machine{.chips = 256,
                  .network = {mesh,
                              {.degree = 4,
                               .bandwidth = BytesPerSecond(8.0),
                               .latency = Seconds(1.0),
                               .both_ways = true}}};
  const MeshLoads loads = loads_of(*mesh.mesh, division);
  // Up a column of 8: pairs, rings of the chips 0, 2, 4, 6 and 1, 3, 5, 7, and rows of 8.
  const auto load = [&](Role role) { return loads.own[static_cast<std::size_t>(role)]; };
  REQUIRE((load(Role::Tensor) == 1 && load(Role::Context) == 4 && load(Role::Data) == 2));
  const Groups groups(machine, {division, outside});
  // A pair has one link in each direction, and one hop.
  CHECK(groups.tensor.time(Exchange::AllGather, Bytes(32.0)) == Seconds(16.0 / 8.0 + 1.0));
  // Half of the bytes goes each way: 24 of 32 at 2 * 8 / 4 a second, then a row as a line.
  const double context = 24.0 / 4.0, row = 7.0 / 8.0 * 32.0 / 4.0 / 8.0;
  const double outer = 0.75 * 32.0 / 32.0 / 16.0;
  const double hops = 2.0 * static_cast<double>(loads.hops[1]) + 4.0 * 7.0 + 2.0;
  CHECK(groups.expert_replicas.time(Exchange::AllGather, Bytes(32.0)).in_base_units() ==
        doctest::Approx(context + row + outer + hops));
}

}  // namespace
}  // namespace dfsearch::training
