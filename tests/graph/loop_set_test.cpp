#include "graph/loop_set.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

namespace dfsearch {

TEST_CASE("a set of loops iterates in the order of preference") {
  LoopSet set;
  for (const Loop loop : {Loop::M, Loop::None, Loop::K}) set.insert(loop);
  std::vector<LoopPair> loops;
  for (const LoopPair loop : set) loops.push_back(loop);
  CHECK(loops == std::vector<LoopPair>{Loop::None, Loop::K, Loop::M});
  CHECK(set.size() == 3);
  CHECK(set.front() == Loop::None);
  CHECK(set.back() == Loop::M);
  set.erase(Loop::None);
  CHECK_FALSE(set.contains(Loop::None));
  CHECK(set.front() == Loop::K);
  CHECK(set != LoopSet(Loop::K));
  set.erase(Loop::M);
  CHECK(set == LoopSet(Loop::K));
}

TEST_CASE("all pairs of loops have an index and a name of their own, single loops first") {
  LoopSet all;
  std::set<std::string> names;
  for (std::size_t i = 0; i < kLoopPairs; ++i) {
    const LoopPair pair = LoopPair::at(i);
    CHECK(pair.index() == i);
    CHECK(pair.is_single() == (i < kLoops));
    all.insert(pair);
    names.insert(name_of(pair));
  }
  CHECK(all.size() == 25);
  CHECK(names.size() == 25);
  CHECK(name_of(LoopPair(Loop::M, Loop::N)) == "M/N");
  CHECK(name_of(LoopPair(Loop::K)) == "K");
}

}  // namespace dfsearch
