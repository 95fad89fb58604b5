// The enumeration of fusions: every one once, and what an interrupted
// enumeration knows.

#include "engine/fusion/fusion_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"
#include "model/evaluate.hpp"
#include "model/layer/sharding.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

using Assignment = std::vector<std::int64_t>;

/// All fusions below a node.
class Walker final : public FusionSink {
 public:
  Walker(const FusionTree& search, std::int64_t budget) : search_(search), budget_(budget) {}

  void walk(const FusionNode& node) {
    search_.branch(node, budget_, *this);
    while (!open_.empty()) {
      const FusionNode next = std::move(open_.back());
      open_.pop_back();
      search_.branch(next, budget_, *this);
    }
  }
  [[nodiscard]] Ticks limit() const override { return kNever - 1; }
  void child(FusionNode&& node) override { open_.push_back(std::move(node)); }
  void complete(Fusion&& fusion) override { found.push_back(std::move(fusion.partition)); }

  std::vector<Assignment> found;

 private:
  const FusionTree& search_;
  std::int64_t budget_;
  std::vector<FusionNode> open_;
};

/// The indices replaced by their ranks: which partitions there are, in order.
Assignment ranks(const Assignment& partition) {
  const std::set<std::int64_t> used(partition.begin(), partition.end());
  Assignment result;
  for (const std::int64_t index : partition) {
    result.push_back(std::distance(used.begin(), used.find(index)));
  }
  return result;
}

/// For each sequence of partitions that fits, the fusion with the earliest indices.
std::set<Assignment> earliest_fusions(const Problem& problem, const MappingProblem& search) {
  const std::vector<LoopPair> sharding = least_bytes_sharding(problem);
  MappingSolution solution{
      .cost = {}, .point = outer_points(problem).front(), .sharding = sharding, .fusion = {}};
  Assignment& partition = solution.fusion.partition;
  partition.assign(problem.workload.graph.kernel_count(), 0);
  std::map<Assignment, Assignment> earliest;
  const auto consider = [&] {
    for (const Tensor& t : problem.workload.graph.tensors()) {
      if (partition[t.from.index()] > partition[t.to.index()]) return;
    }
    if (!std::holds_alternative<Cost>(evaluate(problem, search.mapping(solution)))) return;
    const auto [place, first] = earliest.try_emplace(ranks(partition), partition);
    if (!first) place->second = std::min(place->second, partition);
  };
  for (std::size_t digit = 0; digit < partition.size();) {
    if (digit == 0) consider();
    if (++partition[digit] < problem.partition_limit()) {
      digit = 0;
    } else {
      partition[digit++] = 0;
    }
  }
  std::set<Assignment> fusions;
  for (const auto& [rank, assignment] : earliest) fusions.insert(assignment);
  return fusions;
}

void pin_some(Problem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  problem.execution.pins.assign(problem.workload.graph.kernel_count(), std::nullopt);
  for (auto& pin : problem.execution.pins) {
    if (test::pick(random, 0, 2) == 0) pin = test::pick(random, 0, problem.partition_limit() - 1);
  }
}

/// Keeps the children of one call.
class Children final : public FusionSink {
 public:
  explicit Children(Ticks limit = kNever - 1) : limit_(limit) {}

  [[nodiscard]] Ticks limit() const override { return limit_; }
  void child(FusionNode&& node) override { nodes.push_back(std::move(node)); }
  void complete(Fusion&& fusion) override { fusions.push_back(std::move(fusion)); }

  std::vector<FusionNode> nodes;
  std::vector<Fusion> fusions;

 private:
  Ticks limit_;
};

/// Without tensors: a computes for 1 s, b communicates for 1 s, c does next to
/// nothing.
Problem two_resources() {
  Problem problem = test::idle_problem(3);
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[0].m = 2000;  // at 2000 FLOP/s
  kernels[1].communication =
      Communication{.type = CommunicationType::AllReduce, .bytes = Bytes(1.0)};
  problem.workload.graph = DataflowGraph(kernels, {});
  problem.system.chips = 2;
  problem.system.network = {test::dimension(Topology::Ring, 2, 1.0)};
  return problem;
}

}  // namespace

TEST_CASE("the search emits every sequence of partitions once, at its earliest indices") {
  std::size_t fusions = 0;
  int pinned = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Problem problem = seed % 4 == 3
                          ? test::symmetric_problem(seed)
                          : test::random_problem(seed, {.kernels = 5, .assignments = 4000});
    if (problem.execution.style == Style::KernelByKernel) continue;
    if (seed % 3 == 0) pin_some(problem, seed);
    if (problem.workload.graph.kernel_count() > 6) continue;
    // Without symmetry: else partitions that are images of others do not come up.
    SearchBounds bounds;
    bounds.drop(SearchBound::Symmetry);
    const MappingProblem search(problem, {}, bounds);
    const auto context = search.open(outer_points(problem).front());
    if (context->tables.capacity_for_activations() < Bytes{}) continue;
    Walker walker(context->search, seed % 2 == 0 ? 2 : 1'000'000);
    walker.walk(context->search.root());
    const std::set<Assignment> found(walker.found.begin(), walker.found.end());
    CHECK(found.size() == walker.found.size());  // each once
    REQUIRE(found == earliest_fusions(problem, search));
    fusions += found.size();
    pinned += seed % 3 == 0 && !found.empty();
  }
  CHECK(fusions > 12'000);
  CHECK(pinned > 100);
}

TEST_CASE("what is decided on both sides bounds the rest of an interrupted enumeration") {
  const Problem problem = two_resources();
  const auto context = MappingProblem(problem).open(outer_points(problem).front());
  const auto bound = [&](const FusionNode& node) {
    return std::round(context->tables.clock().seconds(node.bound).in_base_units() * 100) / 100;
  };
  const FusionNode root = context->search.root();
  CHECK(bound(root) == 1.0);  // b may hide behind a
  Children children;
  context->search.branch(root, 2, children);
  // Interrupted before c, with a and b inside and with b kept out, and before b
  // after a is kept out.
  REQUIRE(children.nodes.size() == 3);
  CHECK(bound(children.nodes[0]) == 1.0);
  CHECK(children.nodes[1].opened->inside(context->tables.size()).contains(0));
  CHECK(children.nodes[1].opened->outside(context->tables.size()).contains(1));
  CHECK(bound(children.nodes[1]) == 2.0);
  CHECK(bound(children.nodes[2]) == 1.0);

  // A limit between the two leaves nothing that has one of a and b without the other.
  Children within(context->tables.clock().ticks(Seconds(1.5)));
  context->search.branch(root, 1000, within);
  CHECK(within.fusions.size() == 1);
  CHECK(within.nodes.size() == 2);  // a and b, or c
  for (const FusionNode& node : within.nodes) {
    CHECK(node.done.contains(0) == node.done.contains(1));
  }
}

}  // namespace dfsearch
