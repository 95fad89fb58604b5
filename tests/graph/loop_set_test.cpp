#include "graph/loop_set.hpp"

#include <doctest/doctest.h>

namespace dfsearch {

TEST_CASE("a set of loops iterates in the order of preference") {
  LoopSet set;
  for (const Loop loop : {Loop::M, Loop::None, Loop::K}) set.insert(loop);
  std::vector<Loop> loops;
  for (const Loop loop : set) loops.push_back(loop);
  CHECK(loops == std::vector<Loop>{Loop::None, Loop::K, Loop::M});
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

}  // namespace dfsearch
