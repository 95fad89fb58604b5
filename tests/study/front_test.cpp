#include "study/front_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace dfsearch::study {
namespace {

Figures figures(double step_time, double price) {
  Figures of;
  of[Figure::StepTime] = step_time;
  of[Figure::Price] = price;
  return of;
}

}  // namespace

TEST_CASE("times that differ by a rounding are equal, and the cheaper point stands alone") {
  const Goal goal{.figures = {Figure::StepTime, Figure::Price}, .limits = {}};
  const std::array points{figures(1.0 - 6.5e-15, 20.0), figures(1.0, 10.0), figures(0.9, 30.0)};
  std::array<PointIndex, 3> order{0, 1, 2};
  do {
    Front front(goal);
    for (const PointIndex i : order) front.add(i, i, points[static_cast<std::size_t>(i)]);
    const auto members = front.members();
    REQUIRE(members.size() == 2);
    CHECK(members[0].index == 2);
    CHECK(members[1].index == 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("of points that are equal but for roundings in all figures the first in rank stands") {
  const Goal goal{.figures = {Figure::StepTime, Figure::Price}, .limits = {}};
  Front front(goal);
  front.add(5, 5, figures(1.0 - 3e-15, 10.0 + 3e-14));
  front.add(4, 4, figures(1.0, 10.0));
  REQUIRE(front.members().size() == 1);
  CHECK(front.members()[0].index == 4);
}

TEST_CASE("a difference that is no rounding is a difference") {
  const Goal goal{.figures = {Figure::StepTime, Figure::Price}, .limits = {}};
  Front front(goal);
  front.add(0, 0, figures(1.0 - 1e-9, 20.0));
  front.add(1, 1, figures(1.0, 10.0));
  CHECK(front.members().size() == 2);
}

}  // namespace dfsearch::study
