// Checkpoints whose checksum is right and whose content is not.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/solve.hpp"
#include "fuzz/checkpoint_input.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

using Map = nlohmann::json;

/// The content of a checkpoint of the whole search, with an answer that is finished.
Map good_content(const Problem& problem) {
  std::string bytes;
  SearchOptions options{.top = 2};
  options.on_checkpoint = [&](const SearchState& state) {
    bytes = checkpoint_bytes(problem, state);
  };
  solve(problem, options);
  return Map::from_cbor(fuzz::content_of(bytes));
}

std::string complaint(const Map& content, const Problem& problem) {
  const std::vector<std::uint8_t> cbor = Map::to_cbor(content);
  try {
    parse_checkpoint(fuzz::guarded(std::string(cbor.begin(), cbor.end()), problem), "c.ck",
                     problem);
  } catch (const InputError& error) {
    return error.messages().front();
  }
  return "";
}

}  // namespace

TEST_CASE("where a checkpoint counts, a real number is refused") {
  const Problem problem = example_problem();
  const Map good = good_content(problem);
  REQUIRE(complaint(good, problem).empty());
  REQUIRE(good.at("finished").size() == 1);
  for (const char* const place :
       {"/open", "/partitions", "/shardings", "/stats/nodes", "/stats/ideals",
        "/finished/0/point/1", "/finished/0/sharding/0", "/finished/0/partition/2"}) {
    CAPTURE(place);
    for (const double value : {0.5, 1e30, -1e30, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
      Map changed = good;
      changed.at(Map::json_pointer(place)) = value;
      CHECK_FALSE(complaint(changed, problem).empty());
    }
  }
}

TEST_CASE("a partition that a mapping cannot have is refused") {
  const Problem problem = example_problem();
  const Map good = good_content(problem);
  for (const std::int64_t index :
       {std::int64_t{-1}, problem.partition_limit(), std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(index);
    Map changed = good;
    changed.at(Map::json_pointer("/finished/0/partition/2")) = index;
    CHECK_FALSE(complaint(changed, problem).empty());
  }
}

TEST_CASE("counts and times that no search has are refused") {
  const Problem problem = example_problem();
  const Map good = good_content(problem);
  constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();
  for (const char* const name : {"nodes", "proof_nodes", "pruned_by_bound", "incumbents"}) {
    CAPTURE(name);
    for (const Map& value : {Map(-1), Map(kGreatest), Map(std::uint64_t{1} << 63)}) {
      Map changed = good;
      changed["stats"][name] = value;
      CHECK_FALSE(complaint(changed, problem).empty());
    }
  }
  for (const char* const name : {"time", "first_incumbent"}) {
    CAPTURE(name);
    for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
      Map changed = good;
      changed["stats"][name] = value;
      CHECK_FALSE(complaint(changed, problem).empty());
    }
  }
}

TEST_CASE("lists in lists without an end are refused") {
  const Problem problem = example_problem();
  for (const char* const opening : {"\x81", "\x9f", "\xa1\x61q", "\xbf\x61q"}) {
    CAPTURE(opening);
    std::string content;
    for (int i = 0; i < 1'000'000; ++i) content += opening;
    CHECK_THROWS_AS(parse_checkpoint(fuzz::guarded(content, problem), "c.ck", problem), InputError);
  }
  Map deep = 1;
  for (int i = 0; i < 20; ++i) deep = Map::array({deep});
  Map changed = good_content(problem);
  changed["finished"] = deep;
  CHECK_FALSE(complaint(changed, problem).empty());
}

}  // namespace dfsearch
