#include "io/checkpoint/problem_fingerprint.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

/// The sections whose numbers a change changes.
std::set<std::string> changed(const std::function<void(Problem&)>& change) {
  const Problem before = example_problem();
  Problem after = before;
  change(after);
  const Fingerprint a = fingerprint_of(before);
  const Fingerprint b = fingerprint_of(after);
  std::set<std::string> names;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) names.insert(a[i].first);
  }
  return names;
}

}  // namespace

TEST_CASE("every value of the problem counts, in its section") {
  using Names = std::set<std::string>;
  CHECK(changed([](Problem&) {}).empty());
  const auto kernels = [](Problem& p, const std::function<void(Kernel&)>& change) {
    std::vector<Kernel> list = p.workload.graph.kernels();
    change(list.back());
    p.workload.graph = DataflowGraph(list, p.workload.graph.tensors());
  };
  CHECK(changed([&](Problem& p) { kernels(p, [](Kernel& k) { k.n = 65; }); }) == Names{"workload"});
  CHECK(changed([&](Problem& p) { kernels(p, [](Kernel& k) { k.memory = Bytes(1.0); }); }) ==
        Names{"workload"});
  CHECK(changed([&](Problem& p) {
          kernels(p, [](Kernel& k) { k.communication = Communication{}; });
        }) == Names{"workload"});
  CHECK(changed([](Problem& p) { p.workload.micro_batch = std::nullopt; }) == Names{"workload"});
  CHECK(changed([](Problem& p) { p.workload.boundary += Bytes(1.0); }) == Names{"workload"});
  CHECK(changed([](Problem& p) { p.system.accelerator.sram += Bytes(1.0); }) == Names{"system"});
  CHECK(changed([](Problem& p) { p.system.memory[0].capacity = Bytes::infinity(); }) ==
        Names{"system"});
  CHECK(changed([](Problem& p) { p.system.network[0].strategy = std::nullopt; }) ==
        Names{"system"});
  CHECK(changed([](Problem& p) { p.system.price.accelerator += Dollars(1.0); }) == Names{"system"});
  CHECK(changed([](Problem& p) { p.execution.overlap = Overlap::None; }) == Names{"execution"});
  CHECK(changed([](Problem& p) { p.execution.pins = {0, std::nullopt, 1}; }) == Names{"execution"});
  CHECK(changed([](Problem& p) { p.equations.all_reduce_passes = 1; }) == Names{"equations"});
  CHECK(changed([](Problem& p) {
          p.sharding_pins = {Loop::M, std::nullopt, std::nullopt};
        }) == Names{"sharding"});
  CHECK(changed([](Problem& p) { p.tensor_axes = 2; }) == Names{"sharding"});
  CHECK(changed([](Problem& p) { p.parallelism[1].most = 4; }) == Names{"parallelism"});
}

TEST_CASE("the name of a generator does not count, what it generated does") {
  CHECK(changed([](Problem& p) { p.workload.kind = WorkloadKind::LlmPrefill; }).empty());
}

TEST_CASE("lists are told from lists of lists") {
  // [2] [] against [] [2] in neighbouring members.
  const auto with = [](std::size_t strategy) {
    Problem problem = example_problem();
    problem.parallelism[strategy].values = {2};
    return fingerprint_of(problem);
  };
  CHECK(with(0) != with(1));
}

}  // namespace dfsearch
