// Fronts against each excess that was added, one after the other.

#include "engine/duals/label_pricing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::pick;

/// Draws from few values, so that many are equal; some parts do not matter.
PartExcess random_excess(std::mt19937_64& random, std::int64_t values) {
  PartExcess excess{};
  for (FineTicks& part : excess) {
    part = pick(random, 0, 2) == 0 ? kNoMatter : pick(random, -values, values);
  }
  return excess;
}

bool is_as_great(const PartExcess& a, const PartExcess& b) {
  for (std::size_t r = 0; r < a.size(); ++r) {
    if (a[r] < b[r]) return false;
  }
  return true;
}

TEST_CASE("an excess is dominated if one that was added is no less in any part") {
  constexpr std::uint32_t kSeeds = 3000;
  std::int64_t dominated = 0;
  std::int64_t asked = 0;
  LabelDominance fronts;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const std::int64_t values = pick(random, 1, 40);
    fronts.clear();
    std::vector<PartExcess> added;
    for (std::int64_t step = pick(random, 1, 60); step > 0; --step) {
      const PartExcess excess = random_excess(random, values);
      const bool expected = std::any_of(added.begin(), added.end(), [&](const auto& other) {
        return is_as_great(other, excess);
      });
      std::int64_t comparisons = 0;
      REQUIRE(fronts.has_as_great(excess, comparisons) == expected);
      REQUIRE(comparisons <= static_cast<std::int64_t>(added.size()) + 1);
      dominated += expected;
      ++asked;
      // Dominated excesses may be added, too.
      if (expected && pick(random, 0, 3) != 0) continue;
      fronts.add(excess);
      added.push_back(excess);
    }
  }
  CHECK(dominated > asked / 10);
  CHECK(dominated < asked * 9 / 10);
}

}  // namespace
}  // namespace dfsearch
