#include "study/grid.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

namespace dfsearch::study {
namespace {

Grid random_grid(std::mt19937_64& random) {
  std::vector<Axis> axes;
  const std::size_t dimensions = 1 + random() % 4;
  for (std::size_t d = 0; d < dimensions; ++d) {
    axes.push_back({"a" + std::to_string(d), {}, d});
    const std::size_t size = 1 + random() % 5;
    for (std::size_t i = 0; i < size; ++i) axes.back().labels.push_back(std::to_string(i));
  }
  return {std::move(axes), {}};
}

/// Calls with the choices of each point of a box.
template <class Call>
void for_each_point(const Grid& grid, const Box& box, const Call& call) {
  for (PointIndex i = 0; i < grid.count(); ++i) {
    if (box.contains(grid.choices(i))) call(grid.choices(i));
  }
}

TEST_CASE("points are numbered with the last dimension fastest") {
  const Grid grid({{"a", {"x", "y"}, 0}, {"b", {"p", "q", "r"}, 1}, {"c", {"1", "2", "3"}, 1}},
                  {{{{0, {1}}, {1, {2}}}}});
  CHECK(grid.count() == 6);
  CHECK(grid.index({1, 2}) == 5);
  CHECK(grid.choices(4) == Choices{1, 1});
  CHECK(grid.label(2, {1, 1}) == "2");
  CHECK(grid.is_excluded({1, 2}));
  CHECK_FALSE(grid.is_excluded({0, 2}));
}

TEST_CASE("boxes hold the points of a range, each once") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Grid grid = random_grid(random);
    const auto count = static_cast<std::uint64_t>(grid.count());
    const auto begin = static_cast<PointIndex>(random() % (count + 1));
    const auto end =
        begin + static_cast<PointIndex>(random() % (count - static_cast<std::uint64_t>(begin) + 1));
    std::multiset<PointIndex> found;
    std::int64_t sum = 0;
    for (const Box& box : grid.boxes(begin, end)) {
      sum += grid.count(box);
      for_each_point(grid, box, [&](const Choices& c) { found.insert(grid.index(c)); });
    }
    REQUIRE(sum == end - begin);
    REQUIRE(found.size() == static_cast<std::size_t>(end - begin));
    for (PointIndex i = begin; i < end; ++i) REQUIRE(found.count(i) == 1);
  }
}

/// Some places of some dimensions, of one of them perhaps twice, as two axes of it may ask for.
Selection random_exclusion(const Grid& grid, std::mt19937_64& random) {
  Selection exclusion;
  const std::size_t named = 1 + random() % 3;
  for (std::size_t i = 0; i < named; ++i) {
    const std::size_t d = random() % grid.dimensions();
    std::vector<std::int32_t> places;
    for (std::int32_t place = 0; place < grid.size(d); ++place) {
      if (random() % 2 == 0) places.push_back(place);
    }
    exclusion.places.emplace_back(d, std::move(places));
  }
  return exclusion;
}

TEST_CASE("the points of a range that are not excluded are counted without a look at each") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Grid whole = random_grid(random);
    std::vector<Selection> excluded(random() % 5);
    for (Selection& exclusion : excluded) exclusion = random_exclusion(whole, random);
    const Grid grid(whole.axes(), excluded);
    const auto count = static_cast<std::uint64_t>(grid.count());
    const auto begin = static_cast<PointIndex>(random() % (count + 1));
    std::int64_t expected = 0;
    for (PointIndex i = begin; i < grid.count(); ++i) {
      if (!grid.is_excluded(grid.choices(i))) ++expected;
    }
    REQUIRE(grid.included(begin, grid.count()) == expected);
  }
  // A million million points.
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < 4; ++d) {
    axes.push_back({"a" + std::to_string(d), std::vector<std::string>(1000, "x"), d});
  }
  const Grid vast(axes, {{{{0, {0, 1}}, {3, {7}}}}, {{{2, {5}}}}});
  CHECK(vast.included(0, vast.count()) == 999LL * 1000 * (1000LL * 1000 - 2));
}

TEST_CASE("the greatest point of a box has its least rank, and ranks are different") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Grid grid = random_grid(random);
    std::vector<Growth> growth;
    for (std::size_t d = 0; d < grid.dimensions(); ++d) {
      growth.push_back(random() % 2 == 0 ? Growth::Ascending : Growth::Descending);
    }
    Box all{Choices(grid.dimensions(), 0), Choices(grid.dimensions(), 0)};
    Choices greatest(grid.dimensions(), 0);
    for (std::size_t d = 0; d < grid.dimensions(); ++d) {
      all.last[d] = grid.size(d) - 1;
      if (growth[d] == Growth::Ascending) greatest[d] = all.last[d];
    }
    std::set<PointIndex> ranks;
    for_each_point(grid, all, [&](const Choices& c) { ranks.insert(grid.rank(c, growth)); });
    REQUIRE(static_cast<std::int64_t>(ranks.size()) == grid.count());
    REQUIRE(*ranks.begin() == grid.rank(greatest, growth));
  }
}

}  // namespace
}  // namespace dfsearch::study
