// Files whose checksum is right and whose content is not: they are refused or do no harm.

#include <doctest/doctest.h>

#include <boost/crc.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/example_problem.hpp"
#include "support/checkpoints_of.hpp"
#include "support/random_problem.hpp"
#include "support/same_answer.hpp"

namespace dfsearch {
namespace {

using Node = MappingProblem::Node;
using test::checkpoints_of;

constexpr std::size_t kBytesBeforeSum = 22;  // "dfsearch checkpoint 2\n"
constexpr std::size_t kBytesBeforeMap = kBytesBeforeSum + 4;

/// What is said of it when it is read or gone on with; empty if all went well.
std::string complaint(const std::string& bytes, const Problem& problem) {
  try {
    SearchState state = parse_checkpoint(bytes, "c.ck", problem);
    solve(problem, {.limits = {.nodes = 1000}, .resume = &state});
  } catch (const InputError& error) {
    return error.messages().front();
  }
  return "";
}

std::string with_right_sum(std::string bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data() + kBytesBeforeMap, bytes.size() - kBytesBeforeMap);
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[kBytesBeforeSum + i] = static_cast<char>((crc.checksum() >> (8 * i)) & 0xff);
  }
  return bytes;
}

/// A change of the node, and what is said of it; null: the answer is the same.
struct Damage {
  std::function<bool(Node&)> change;  // false: not of this node
  const char* said;
};

/// Its last partition, as a copy that may be changed.
std::shared_ptr<ClosedPartition> last_of(Node& node) {
  auto copy = std::make_shared<ClosedPartition>(*node.fusion.closed);
  node.fusion.closed = copy;
  return copy;
}

std::vector<Damage> damages() {
  const auto of_fusion = [](auto change) {
    return [change](Node& node) {
      if (!node.fusion.closed) return false;
      change(node);
      return true;
    };
  };
  return {
      {of_fusion([](Node& node) { ++node.fusion.spent; }), "its time so far is "},
      {of_fusion([](Node& node) { --node.fusion.spent; }), "its time so far is "},
      {of_fusion([](Node& node) { ++node.fusion.next_index; }), "its next partition is "},
      {of_fusion([](Node& node) { ++node.fusion.used; }), "its number of partitions is "},
      {of_fusion([](Node& node) { node.fusion.done = KernelSet(node.fusion.done.end()); }),
       "its finished kernels are not "},
      {of_fusion([](Node& node) { last_of(node)->index += 1; }), "has a wrong index"},
      {of_fusion([](Node& node) {
         const auto last = last_of(node);
         last->kernels = {};
       }),
       "has no kernel"},
      {of_fusion([](Node& node) {
         const auto before = node.fusion.closed;
         last_of(node)->previous = before;
       }),
       ""},
      {[](Node& node) {
         if (!node.point) return false;
         node.point->network = 1'000'000;
         return true;
       },
       "its network is not among"},
      {[](Node& node) {
         if (!node.point) return false;
         node.point->micro_batch = 7;
         return true;
       },
       "its tile or micro-batch is not among"},
      {[](Node& node) {
         if (!node.fusion.opened) return false;
         FusionNode::Opened opened = *node.fusion.opened;
         opened.index += 100;
         node.fusion.opened = std::make_shared<const FusionNode::Opened>(std::move(opened));
         return true;
       },
       "its open partition has the index"},
      {[](Node& node) {
         if (!node.fusion.opened) return false;
         const FusionNode::Opened& opened = *node.fusion.opened;
         const std::size_t kernels = node.fusion.done.end();
         const KernelSet inside = opened.inside(kernels);
         if (inside.first_from(0) >= inside.end()) return false;
         KernelSet outside = opened.outside(kernels);
         outside |= inside;
         node.fusion.opened = std::make_shared<const FusionNode::Opened>(
             FusionNode::Opened::of(opened.index, inside, outside));
         return true;
       },
       "inside and outside at once"},
      // Bounds that are too high, or too low, are not believed.
      {[](Node& node) {
         node.bound = Score(1e30);
         node.fusion.bound = kNever;
         return true;
       },
       nullptr},
      {[](Node& node) {
         node.bound = Score{};
         node.fusion.bound = 0;
         return true;
       },
       nullptr},
  };
}

}  // namespace

TEST_CASE("nodes that are not what their partitions give are refused, by what differs") {
  const std::vector<Damage> all = damages();
  std::vector<int> met(all.size());
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        test::random_problem(seed, {.kernels = 5, .assignments = 2'000.0, .joint = seed % 3 == 0});
    SearchOptions options{.node_effort = {.steps = 8, .weight = 10'000}};
    // Most searches have no bounds, so that there are nodes.
    for (const SearchBoundName& known : kSearchBounds) {
      if (seed % 4 != 0) options.bounds.drop(known.bound);
    }
    const SearchResult straight = solve(problem, options);
    std::vector<std::string> files;
    for (const std::int64_t nodes : {5, 25}) {
      SearchOptions stopped = options;
      stopped.limits.nodes = nodes;
      files.push_back(checkpoints_of(problem, stopped).back());
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      for (std::size_t d = 0; d < all.size(); ++d) {
        CAPTURE(d);
        SearchState state = parse_checkpoint(files[i], "c.ck", problem);
        bool changed = false;
        for (auto& entry : state.open) {
          if (all[d].said != nullptr && changed) break;
          changed |= all[d].change(entry.node);
          entry.bound = entry.node.bound;
        }
        if (!changed) continue;
        ++met[d];
        SearchOptions again = options;
        again.resume = &state;
        if (all[d].said != nullptr) {
          CHECK_THROWS_WITH_AS(solve(problem, again), doctest::Contains(all[d].said), InputError);
        } else {
          const SearchResult result = solve(problem, again);
          CHECK(test::cost_the_same(result, straight));
          CHECK(result.lower_bound == straight.lower_bound);
        }
      }
    }
  }
  for (std::size_t d = 0; d < all.size(); ++d) {
    CAPTURE(d);
    CHECK(met[d] > 10);
  }
}

TEST_CASE("bounds and counters that no search has are refused, by name") {
  const Problem problem = example_problem();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bound : {infinity, -infinity, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(bound);
    SearchState state;
    state.begun = true;
    state.open.push_back({.bound = Score(bound), .node = {.bound = Score(bound)}});
    CHECK(complaint(checkpoint_bytes(problem, state), problem)
              .starts_with("c.ck: is a damaged checkpoint: the bound of an open node is "));
  }
  SearchState state;
  state.stats.nodes = -1;
  CHECK(complaint(checkpoint_bytes(problem, state), problem) ==
        "c.ck: is a damaged checkpoint: 'nodes' is -1, expected a count");
  state.stats.nodes = 0;
  state.stats.time = Seconds(-1.0);
  CHECK(complaint(checkpoint_bytes(problem, state), problem) ==
        "c.ck: is a damaged checkpoint: 'time' is -1 s, expected a time");
}

TEST_CASE("an answer whose bound is above its cost is refused") {
  const Problem problem = example_problem();
  SearchState last;
  SearchOptions options{.top = 2};
  options.on_checkpoint = [&](const SearchState& state) { last = state; };
  const SearchResult result = solve(problem, options);
  REQUIRE(result.cost);
  REQUIRE(last.finished.size() == 1);
  last.finished.front().lower_bound = result.cost->objective * 2.0;
  CHECK(complaint(checkpoint_bytes(problem, last), problem).find("has a bound above its cost") !=
        std::string::npos);
}

TEST_CASE("no change of a byte under a right checksum ends in an internal error") {
  std::mt19937_64 random(5);
  int refused = 0;
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed, {.kernels = 6,
                                                        .assignments = 5'000.0,
                                                        .free_machine = seed % 4 == 3,
                                                        .joint = seed % 3 == 0});
    if (network_choices(problem).empty()) continue;
    const std::vector<std::string> files =
        checkpoints_of(problem, {.node_effort = {.steps = 8}, .top = 2});
    for (int i = 0; i < 200; ++i) {
      std::string bytes =
          files[static_cast<std::size_t>(test::pick(random, 0, std::ssize(files) - 1))];
      const auto place = static_cast<std::size_t>(
          test::pick(random, static_cast<std::int64_t>(kBytesBeforeMap), std::ssize(bytes) - 1));
      bytes[place] = static_cast<char>(test::pick(random, 0, 255));
      bytes = with_right_sum(std::move(bytes));
      CAPTURE(place);
      std::string said;
      REQUIRE_NOTHROW(said = complaint(bytes, problem));
      ++(said.empty() ? accepted : refused);
    }
  }
  CHECK(refused > 500);
  CHECK(accepted > 100);
}

}  // namespace dfsearch
