#include "model/scope.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

/// One GEMM with a weight, whose loops K and M may be split, on two chips.
Problem with_choice() {
  Problem problem = test::idle_problem(1);
  problem.workload.graph = DataflowGraph({test::weight_gemm("A", 8, 6, 4)}, {});
  problem.system.network = {test::dimension(Topology::Ring, 2, 1e3)};
  problem.system.chips = 2;
  problem.sharding = ShardingChoice::LeastBytes;
  return problem;
}

Scope scope(const Problem& problem) { return scope_of(problem, network_choices(problem)); }

}  // namespace

TEST_CASE("a sharding of least bytes is in the scope, in words") {
  const Scope fixed = scope(with_choice());
  REQUIRE(fixed.size() == 1);
  CHECK(names_of(fixed) == "sharding: least_bytes");
  CHECK(proved_for(fixed) == " for the sharding that communicates least");
  CHECK(untried(fixed) == "other shardings (search.sharding: joint) were not tried");
}

TEST_CASE("several things that are fixed are told one after the other") {
  const FixedBeforehand layers{.name = "layers: even",
                               .proved_for = "stages of equally many layers",
                               .untried = "other layers of stages",
                               .searched_by = ""};
  Scope both = scope(with_choice());
  both.push_back(layers);
  CHECK(names_of(both) == "sharding: least_bytes, layers: even");
  CHECK(proved_for(both) ==
        " for the sharding that communicates least and stages of equally many layers");
  CHECK(untried(both) ==
        "other shardings (search.sharding: joint), other layers of stages were not tried");
  CHECK(proved_for({}).empty());
}

TEST_CASE("HPL as a graph is proved for its trailing updates") {
  Problem problem = with_choice();
  problem.sharding = ShardingChoice::Joint;
  problem.workload.kind = WorkloadKind::Hpl;
  CHECK(names_of(scope(problem)) == "HPL: trailing updates alone");
  problem.equations.out_of_core = OutOfCore::Free;  // as published
  CHECK(scope(problem).empty());
}

TEST_CASE("nothing is in the scope where nothing was lost") {
  Problem joint = with_choice();
  joint.sharding = ShardingChoice::Joint;
  CHECK(scope(joint).empty());

  Problem whole = with_choice();  // no kernel is split
  whole.system.network = {test::dimension(Topology::Ring, 2, 1e3, Strategy::Data)};
  whole.workload.global_batch = 2;
  REQUIRE(network_choices(whole).size() == 1);
  CHECK(scope(whole).empty());

  Problem pinned = with_choice();  // by the user, not by a rule
  pinned.sharding_pins = {Loop::K};
  CHECK(scope(pinned).empty());

  Problem heads = with_choice();  // which are split, whatever else could be
  Kernel kernel = test::gemm("A", 8, 6, 4);
  kernel.outer = 4;
  heads.workload.graph = DataflowGraph({kernel}, {});
  CHECK(scope(heads).empty());
}

TEST_CASE("a machine left to the search has the sharding in its scope where it may split kernels") {
  Problem free = with_choice();
  free.workload.global_batch = 2;
  free.system.network[0].strategy.reset();
  CHECK(scope(free).size() == 1);
  free.parallelism[static_cast<std::size_t>(Strategy::Tensor)].most = 1;
  CHECK(scope(free).empty());
}

}  // namespace dfsearch
