// A checkpoint returns exactly its state: a search that continues from the file ends like one that
// was never interrupted.

#include "io/checkpoint/checkpoint_file.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_frame.hpp"
#include "io/example_problem.hpp"
#include "io/text/files.hpp"
#include "support/checkpoints_of.hpp"
#include "support/children.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"
#include "support/symmetric_problem.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

using Node = MappingProblem::Node;
using test::checkpoints_of;

void check_same(const Node& a, const Node& b) {
  CHECK(a.bound == b.bound);
  CHECK(a.point == b.point);
  REQUIRE((a.context == nullptr) == (b.context == nullptr));
  if (!a.context) return;
  CHECK(a.fusion.done == b.fusion.done);
  CHECK(a.fusion.spent == b.fusion.spent);
  CHECK(a.fusion.bound == b.fusion.bound);
  CHECK(a.fusion.next_index == b.fusion.next_index);
  CHECK(a.fusion.used == b.fusion.used);
  CHECK(a.context->search.assignment(a.fusion.closed.get()) ==
        b.context->search.assignment(b.fusion.closed.get()));
  REQUIRE((a.fusion.opened == nullptr) == (b.fusion.opened == nullptr));
  if (!a.fusion.opened) return;
  const std::size_t kernels = a.context->tables.size();
  CHECK(a.fusion.opened->index == b.fusion.opened->index);
  CHECK(a.fusion.opened->inside(kernels) == b.fusion.opened->inside(kernels));
  CHECK(a.fusion.opened->outside(kernels) == b.fusion.opened->outside(kernels));
}

void check_same(const std::vector<MappingSolution>& a, const std::vector<MappingSolution>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].fusion.partition == b[i].fusion.partition);
    CHECK(a[i].cost == b[i].cost);
  }
}

std::string complaint(const std::string& bytes, const Problem& problem) {
  try {
    parse_checkpoint(bytes, "c.ck", problem);
  } catch (const InputError& error) {
    return error.messages().front();
  }
  return "";
}

std::string some_checkpoint(const Problem& problem) {
  return checkpoints_of(problem, {.limits = {.nodes = 1}}).back();
}

}  // namespace

TEST_CASE("nodes that were read back branch into the same children") {
  std::size_t compared = 0;
  std::size_t opened = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 5,
                                                        .free_machine = seed % 3 == 0,
                                                        .joint = seed % 4 == 1,
                                                        .two_axes = seed % 8 == 1});
    if (network_choices(problem).empty()) continue;
    // A few steps a node, so that enumerations are interrupted.
    const MappingProblem search(problem, {.steps = 4});
    std::vector<Node> open{search.root()};
    SearchState state;
    state.begun = true;
    for (std::size_t i = 0; i < open.size() && open.size() < 200; ++i) {
      test::Children children;
      search.branch(Node(open[i]), children);
      for (Node& node : children.nodes) open.push_back(std::move(node));
    }
    for (const Node& node : open) state.open.push_back({.bound = node.bound, .node = node});
    SearchState read = parse_checkpoint(checkpoint_bytes(problem, state), "c.ck", problem);
    REQUIRE(read.open.size() == open.size());
    search.attach_contexts(read.open);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Node& node = read.open[i].node;
      check_same(node, open[i]);
      CHECK(read.open[i].bound == open[i].bound);
      opened += node.fusion.opened != nullptr;
      // A network that was never branched gives itself back with its bounds, and then its points.
      test::Children bounded;
      if (open[i].network) search.branch(open[i], bounded);
      test::Children expected;
      test::Children found;
      search.branch(open[i], expected);
      search.branch(node, found);
      REQUIRE(found.nodes.size() == expected.nodes.size());
      for (std::size_t c = 0; c < found.nodes.size(); ++c) {
        check_same(found.nodes[c], expected.nodes[c]);
      }
      check_same(found.solutions, expected.solutions);
      check_same(found.early_solutions, expected.early_solutions);
      ++compared;
    }
  }
  CHECK(compared > 3000);
  CHECK(opened > 300);
}

TEST_CASE("beginnings that nodes share are written once and shared again") {
  const Problem problem = example_problem();
  const MappingProblem search(problem);
  const std::size_t kernels = problem.workload.graph.kernel_count();
  const auto partition = [&](std::shared_ptr<const ClosedPartition> previous, std::size_t kernel) {
    const std::vector<std::uint32_t> alone{static_cast<std::uint32_t>(kernel)};
    return std::make_shared<const ClosedPartition>(
        ClosedPartition{.previous = std::move(previous),
                        .kernels = KernelList(alone),
                        .index = static_cast<std::int32_t>(kernel)});
  };
  const auto first = partition(nullptr, 0);
  const auto second = partition(first, 1);
  const OuterPoint point{.network = 0, .tile = 16, .micro_batch = 2};
  SearchState state;
  for (int copy = 0; copy < 50; ++copy) {
    for (const auto& closed : {first, second}) {
      Node node{.bound = Score(1.0), .point = point, .context = search.open(point)};
      node.fusion.done = KernelSet(kernels);
      node.fusion.closed = closed;
      state.open.push_back({.bound = node.bound, .node = std::move(node)});
    }
  }
  const SearchState read = parse_checkpoint(checkpoint_bytes(problem, state), "c.ck", problem);
  const auto& closed = read.open[1].node.fusion.closed;
  CHECK(read.open[99].node.fusion.closed == closed);
  CHECK(read.open[0].node.fusion.closed == closed->previous);
  CHECK(read.open[0].node.fusion.used == 1);
  CHECK(read.open[1].node.fusion.used == 2);
  CHECK(read.open[1].node.fusion.done.contains(0));
  CHECK(read.open[1].node.fusion.done.contains(1));
  CHECK_FALSE(read.open[1].node.fusion.done.contains(2));
}

TEST_CASE("a search resumed from any of its checkpoints has the same answers") {
  std::size_t resumed = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    const bool free = seed % 2 == 1;
    const Problem problem = test::random_problem(seed, {.kernels = free ? 4U : 7U,
                                                        .assignments = free ? 300.0 : 20'000.0,
                                                        .free_machine = free,
                                                        .joint = seed % 3 == 0});
    if (network_choices(problem).empty()) continue;
    const SearchOptions options{.threads = 2, .deterministic = seed % 4 < 2, .top = 3};
    const SearchResult straight = solve(problem, options);
    const std::vector<std::string> files = checkpoints_of(problem, options);
    for (std::size_t i = 0; i < files.size(); i += 1 + files.size() / 6) {
      SearchState state = parse_checkpoint(files[i], "c.ck", problem);
      const std::int64_t nodes_before = state.stats.nodes;
      SearchOptions again = options;
      again.resume = &state;
      const SearchResult result = solve(problem, again);
      ++resumed;
      REQUIRE(result.status == straight.status);
      CHECK(test::cost_the_same(result, straight));
      CHECK(result.lower_bound == straight.lower_bound);
      CHECK(result.stats.nodes >= nodes_before);
      CHECK(result.alternatives_complete == straight.alternatives_complete);
      REQUIRE(result.alternatives.size() == straight.alternatives.size());
      for (std::size_t a = 0; a < result.alternatives.size(); ++a) {
        CHECK(test::cost_the_same(result.alternatives[a], straight.alternatives[a]));
      }
    }
    // The last one holds the answers: hardly anything is left to do.
    SearchState last = parse_checkpoint(files.back(), "c.ck", problem);
    const std::int64_t nodes_before = last.stats.nodes;
    SearchOptions again = options;
    again.resume = &last;
    CHECK(solve(problem, again).stats.nodes == nodes_before);
  }
  CHECK(resumed > 200);
}

TEST_CASE("limits may be others when a search is resumed") {
  int tightened = 0;
  for (std::uint64_t seed = 1; seed < 120; seed += 2) {
    CAPTURE(seed);
    const Problem problem =
        test::random_problem(seed, {.kernels = 4, .assignments = 300, .free_machine = true});
    if (network_choices(problem).empty()) continue;
    const SearchResult straight = solve(problem, {.top = 3});
    const SearchResult single = solve(problem, {});
    // First with a gap, then without; with more answers, then with fewer.
    const auto with_gap = checkpoints_of(problem, {.limits = {.gap = 0.3}, .top = 3});
    SearchState state = parse_checkpoint(with_gap.back(), "c.ck", problem);
    const SearchResult exact = solve(problem, {.top = 3, .resume = &state});
    CHECK(test::cost_the_same(exact, straight));
    REQUIRE(exact.alternatives.size() == straight.alternatives.size());
    for (std::size_t a = 0; a < exact.alternatives.size(); ++a) {
      ++tightened;
      CHECK(test::cost_the_same(exact.alternatives[a], straight.alternatives[a]));
      CHECK(exact.alternatives[a].gap == 0.0);
    }
    const auto three = checkpoints_of(problem, {.top = 3});
    state = parse_checkpoint(three.back(), "c.ck", problem);
    const SearchResult one = solve(problem, {.resume = &state});
    CHECK(test::cost_the_same(one, single));
    CHECK(one.alternatives.empty());
  }
  CHECK(tightened > 20);
}

TEST_CASE("bounds may be others when a search is resumed") {
  std::mt19937_64 random(27);
  const auto some_bounds = [&] {
    SearchBounds bounds;
    for (const SearchBoundName& known : kSearchBounds) {
      if (test::pick(random, 0, 2) == 0) bounds.drop(known.bound);
    }
    return bounds;
  };
  std::size_t resumed = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        seed % 2 == 0 ? test::symmetric_problem(seed)
                      : test::random_problem(
                            seed, {.kernels = 5, .assignments = 2000, .joint = seed % 4 == 1});
    const SearchResult straight = solve(problem, {});
    const std::vector<std::string> files = checkpoints_of(problem, {.bounds = some_bounds()});
    for (std::size_t i = 0; i < files.size(); i += 1 + files.size() / 8) {
      SearchState state = parse_checkpoint(files[i], "c.ck", problem);
      resumed += !state.open.empty();
      const SearchResult result = solve(problem, {.bounds = some_bounds(), .resume = &state});
      REQUIRE(result.status == straight.status);
      CHECK(test::cost_the_same(result, straight));
      CHECK(result.lower_bound == straight.lower_bound);
    }
  }
  CHECK(resumed > 200);
}

TEST_CASE("a checkpoint of another config says which part of it differs") {
  const Problem problem = example_problem();
  const std::string bytes = some_checkpoint(problem);
  CHECK(complaint(bytes, problem).empty());
  Problem other = problem;
  other.system.accelerator.sram += Bytes(1.0);
  other.execution.overlap = Overlap::None;
  CHECK(complaint(bytes, other) ==
        "c.ck: is a checkpoint of another config: another system, execution");
}

TEST_CASE("what is no checkpoint, cut short or changed is refused") {
  const Problem problem = example_problem();
  const std::string bytes = some_checkpoint(problem);
  CHECK(complaint("", problem) == "c.ck: is no checkpoint of dfsearch");
  CHECK(complaint("workload: {kind: graph}\n", problem) == "c.ck: is no checkpoint of dfsearch");
  std::string older = bytes;
  older.replace(0, older.find('\n'), "dfsearch checkpoint 1");
  CHECK(complaint(older, problem) ==
        "c.ck: is a checkpoint of another form, written by another version of dfsearch");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(complaint(bytes.substr(0, size), problem).empty());
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    CHECK_FALSE(complaint(changed, problem).empty());
  }
}

TEST_CASE("a resumed search that is stopped at once knows what the file says, at its true cost") {
  int worlds = 0;
  int feasible = 0;
  int untouched = 0;
  int proved_untouched = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = test::random_problem(seed, {.kernels = 6});
    if (network_choices(problem).empty()) continue;
    const SearchResult whole = solve(problem, {});
    if (!whole.cost) continue;
    ++worlds;
    const std::string file =
        checkpoints_of(problem, {.limits = {.nodes = 4}, .node_effort = {.steps = 4}}).back();
    for (int moment = 0; moment < 40; ++moment) {
      CAPTURE(seed);
      CAPTURE(moment);
      SearchState state = parse_checkpoint(file, "c.ck", problem);
      SearchOptions options;
      options.limits.deadline = Deadline(Seconds(moment * 1e-5));
      options.resume = &state;
      options.limits.gap = moment % 2 == 0 ? 0.0 : 0.3;
      bool written = false;
      options.on_checkpoint = [&](const SearchState&) { written = true; };
      const SearchResult result = solve(problem, options);
      REQUIRE(result.lower_bound <= whole.cost->objective);
      untouched += !written;
      if (!result.cost) continue;
      ++feasible;
      REQUIRE(result.cost->objective >= whole.cost->objective);
      REQUIRE(result.lower_bound <= result.cost->objective);
      const bool proved = result.gap <= options.limits.gap;
      REQUIRE(result.status == (proved ? SearchStatus::Optimal : SearchStatus::Feasible));
      proved_untouched += proved && !written;
    }
  }
  CHECK(feasible > 100);
  CHECK(proved_untouched > 0);
  CHECK(worlds > 10);
  // On a slow machine more than the first moment comes before the search.
  CHECK(untouched >= worlds);
}

TEST_CASE("only a checkpoint of the same problem is replaced") {
  const test::TemporaryDirectory folder;
  const Problem problem = example_problem();
  Problem other = problem;
  other.workload.layers += 1;
  CHECK_NOTHROW(check_replaceable(folder.path() / "new.ck", fingerprint_of(problem)));
  CHECK_NOTHROW(check_replaceable(folder.write("empty.ck", ""), fingerprint_of(problem)));
  const auto old = folder.write("old.ck", some_checkpoint(problem));
  CHECK_NOTHROW(check_replaceable(old, fingerprint_of(problem)));
  CHECK_THROWS_AS(check_replaceable(old, fingerprint_of(other)), InputError);
  CHECK_THROWS_AS(
      check_replaceable(folder.write("c.yaml", "workload: {}"), fingerprint_of(problem)),
      InputError);
  CHECK_THROWS_AS(load_checkpoint(folder.path() / "none.ck", problem), InputError);
}

}  // namespace dfsearch
