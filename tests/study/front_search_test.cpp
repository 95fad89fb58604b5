// The front found by branch and bound, against all points of small grids whose steps are known.

#include "study/front_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "study/point_source.hpp"
#include "support/worlds.hpp"

namespace dfsearch::study {
namespace {

/// Points with made-up figures, many of them equal.
struct World {
  explicit World(std::uint64_t seed) : random(seed) {
    make_grid();
    make_tables();
    make_goal();
  }

  std::uint64_t draw(std::uint64_t n) { return random() % n; }

  void make_grid() {
    std::vector<Axis> axes;
    const std::size_t dimensions = 1 + draw(4);
    for (std::size_t d = 0; d < dimensions; ++d) {
      axes.push_back({"a" + std::to_string(d), {}, d});
      const std::size_t size = 1 + draw(5);
      for (std::size_t i = 0; i < size; ++i) axes.back().labels.push_back(std::to_string(i));
      growth.push_back(static_cast<Growth>(draw(3)));
    }
    std::vector<Selection> excluded;
    for (std::uint64_t n = draw(3); n > 0; --n) {
      Selection exclusion;
      for (std::size_t d = 0; d < dimensions; ++d) {
        if (draw(2) == 0) continue;
        const auto place = static_cast<std::int32_t>(draw(axes[d].labels.size()));
        exclusion.places.emplace_back(d, std::vector<std::int32_t>{place});
      }
      if (!exclusion.places.empty()) excluded.push_back(std::move(exclusion));
    }
    grid.emplace(std::move(axes), std::move(excluded));
  }

  /// Draws the step time and the price that each choice of each dimension adds.
  void make_tables() {
    grows = draw(8) != 0;  // if not, what the dimensions promise of steps is wrong
    for (std::size_t d = 0; d < grid->dimensions(); ++d) {
      const auto size = static_cast<std::size_t>(grid->size(d));
      std::vector<double> step(size), price(size);
      for (std::size_t i = 0; i < size; ++i) {
        step[i] = static_cast<double>(draw(6));
        price[i] = static_cast<double>(draw(6));
      }
      if (growth[d] != Growth::None) {
        if (grows) std::sort(step.rbegin(), step.rend());
        std::sort(price.begin(), price.end());
      }
      if (growth[d] == Growth::Descending) {
        if (grows) std::reverse(step.begin(), step.end());
        std::reverse(price.begin(), price.end());
      }
      steps.push_back(std::move(step));
      prices.push_back(std::move(price));
    }
    takes_most = draw(2) == 0;
    limit = draw(3) == 0 ? 2.0 + static_cast<double>(draw(8)) : 1e9;
    idle = static_cast<double>(draw(4));
    work = static_cast<double>(draw(30));
    failing = draw(4) == 0 ? draw(static_cast<std::uint64_t>(grid->count())) : ~0ULL;
  }

  void make_goal() {
    const std::vector<std::vector<Figure>> goals = {
        {Figure::StepTime},
        {Figure::StepTime, Figure::Price},
        {Figure::Price, Figure::StepTime},
        {Figure::CostEfficiency},
        {Figure::CostEfficiency, Figure::StepTime},
        {Figure::StepTime, Figure::Price, Figure::CostEfficiency},
        {Figure::Energy},
        {Figure::Energy, Figure::StepTime},
        {Figure::Edp, Figure::Price}};
    goal.figures = goals[draw(goals.size())];
    if (draw(3) == 0) {
      goal.limits.push_back({Figure::Price, -INFINITY, static_cast<double>(draw(12))});
    }
    if (draw(5) == 0) {
      goal.limits.push_back({Figure::StepTime, 3.0, 9.0});
    }
  }

  [[nodiscard]] double step(PointIndex point) const {
    const Choices choices = grid->choices(point);
    double sum = 1.0, most = 1.0;
    for (std::size_t d = 0; d < choices.size(); ++d) {
      const double part = steps[d][static_cast<std::size_t>(choices[d])];
      sum += part;
      most = std::max(most, part);
    }
    return takes_most ? most : sum;
  }

  [[nodiscard]] PointFacts facts(PointIndex point) const {
    const Choices choices = grid->choices(point);
    PointFacts facts{.price = 1.0,
                     .power = 1.0,
                     .peak = 1.0,
                     .flop = 60.0,
                     .idle_power = idle,
                     .work = work,
                     .grows = grows};
    for (std::size_t d = 0; d < choices.size(); ++d) {
      facts.price += prices[d][static_cast<std::size_t>(choices[d])];
    }
    return facts;
  }

  [[nodiscard]] PointAnswer answer(PointIndex point) const {
    PointAnswer answer;
    answer.index = point;
    answer.exact = true;
    if (static_cast<std::uint64_t>(point) == failing) {
      answer.status = PointStatus::Failed;
      answer.exact = false;
      return answer;
    }
    // Nothing fits on machines that are too slow.
    if (step(point) > limit) {
      answer.status = PointStatus::Infeasible;
      return answer;
    }
    answer.status = PointStatus::Optimal;
    answer.step_bound = step(point);
    answer.figures[Figure::StepTime] = step(point);
    answer.figures[Figure::Price] = facts(point).price;
    answer.figures[Figure::CostEfficiency] = 60.0 / step(point) / facts(point).price;
    // A cap may lower the clock, and mappings do more work than they must.
    const double clock = 1.0 / static_cast<double>(1 + point % 3);
    const double joules =
        idle * step(point) / clock + work * static_cast<double>(1 + point % 2) * clock * clock;
    answer.figures[Figure::Energy] = joules;
    answer.figures[Figure::Edp] = joules * step(point) / clock;
    return answer;
  }

  /// Some points return a bound only if the effort is small.
  [[nodiscard]] PointAnswer answer(PointIndex point, const PointEffort& effort) const {
    PointAnswer whole = answer(point);
    if (effort.whole || point % 3 != 0 || whole.status != PointStatus::Optimal) return whole;
    PointAnswer part;
    part.index = point;
    part.step_bound = std::floor(whole.step_bound / 2.0);
    part.stopped_by_effort = true;
    return part;
  }

  std::mt19937_64 random;
  std::optional<Grid> grid;
  std::vector<Growth> growth;
  std::vector<std::vector<double>> steps, prices;
  bool takes_most = false;
  double limit = 0.0, idle = 0.0, work = 0.0;
  std::uint64_t failing = 0;
  bool grows = true;
  Goal goal;
};

std::vector<PointIndex> indices(const Front& front) {
  std::vector<PointIndex> found;
  for (const Front::Member& member : front.members()) found.push_back(member.index);
  return found;
}

/// Every point with every other one.
std::vector<PointIndex> brute_force(const World& world, PointIndex begin, PointIndex end) {
  std::vector<PointIndex> points;
  for (PointIndex i = begin; i < end; ++i) {
    const PointAnswer answer = world.answer(i);
    if (world.grid->is_excluded(world.grid->choices(i))) continue;
    if (answer.status == PointStatus::Optimal && world.goal.allows(answer.figures)) {
      points.push_back(i);
    }
  }
  const auto beats = [&](PointIndex a, PointIndex b) {
    const Figures of_a = world.answer(a).figures, of_b = world.answer(b).figures;
    bool better = false;
    for (const Figure figure : world.goal.figures) {
      if (of_a.badness(figure) > of_b.badness(figure)) return false;
      better = better || of_a.badness(figure) < of_b.badness(figure);
    }
    const auto rank = [&](PointIndex i) {
      return world.grid->rank(world.grid->choices(i), world.growth);
    };
    return better || rank(a) < rank(b);
  };
  std::vector<PointIndex> front;
  for (const PointIndex a : points) {
    const bool beaten = std::any_of(points.begin(), points.end(),
                                    [&](PointIndex b) { return b != a && beats(b, a); });
    if (!beaten) front.push_back(a);
  }
  // Then those that roundings alone keep: the last first, in the order of the first figure.
  const auto figure_of = [&](PointIndex i, Figure figure) {
    return world.answer(i).figures.badness(figure);
  };
  std::sort(front.begin(), front.end(), [&](PointIndex a, PointIndex b) {
    const Figure first = world.goal.figures.front();
    return std::pair(figure_of(a, first), a) < std::pair(figure_of(b, first), b);
  });
  const auto is_less = [](double a, double b) { return a < b - 1e-12 * std::abs(b); };
  const auto beats_but_for_roundings = [&](PointIndex a, PointIndex b) {
    bool better = false;
    for (const Figure figure : world.goal.figures) {
      if (is_less(figure_of(b, figure), figure_of(a, figure))) return false;
      better = better || is_less(figure_of(a, figure), figure_of(b, figure));
    }
    const auto rank = [&](PointIndex i) {
      return world.grid->rank(world.grid->choices(i), world.growth);
    };
    return better || rank(a) < rank(b);
  };
  for (std::size_t i = front.size(); i-- > 0;) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](PointIndex other) {
      return other != front[i] && beats_but_for_roundings(other, front[i]);
    });
    if (beaten) front.erase(front.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::sort(front.begin(), front.end());
  return front;
}

std::vector<PointIndex> sorted(std::vector<PointIndex> points) {
  std::sort(points.begin(), points.end());
  return points;
}

TEST_CASE("the front is that of all points, with any number of threads" *
          doctest::test_suite("worlds")) {
  std::int64_t solved = 0, points = 0;
  for (std::uint64_t seed = 0; seed < test::share_of(4000U); ++seed) {
    CAPTURE(seed);
    const World world(seed);
    const PointKnowledge knowledge{.growth = world.growth,
                                   .facts = [&](PointIndex point) { return world.facts(point); },
                                   .known = [](PointIndex) { return nullptr; }};
    const auto expected = brute_force(world, 0, world.grid->count());
    for (const int threads : {1, 2, 8}) {
      if (threads > 1 && seed % 10 != 0) continue;
      CAPTURE(threads);
      FrontSearch search(*world.grid, world.goal, knowledge, 0, world.grid->count());
      std::set<PointIndex> answered;
      const bool done = run_points(
          search,
          [&](PointIndex point, const PointEffort& effort) { return world.answer(point, effort); },
          {.threads = threads, .on_answer = [&](const PointAnswer& answer) {
             REQUIRE(answered.insert(answer.index).second);
           }});
      REQUIRE(done);
      REQUIRE(sorted(indices(search.front())) == expected);
      const StudyCount count = search.count();
      REQUIRE(count.solved == static_cast<std::int64_t>(answered.size()));
      REQUIRE(count.solved + count.pruned == count.points);
      solved += count.solved;
      points += count.points;
    }
  }
  // It pays.
  CHECK(2 * solved < points);
}

TEST_CASE("parts of a study have the front of the whole together") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const World world(seed);
    const PointKnowledge knowledge{.growth = world.growth,
                                   .facts = [&](PointIndex point) { return world.facts(point); },
                                   .known = [](PointIndex) { return nullptr; }};
    const PointIndex border = world.grid->count() / 3;
    Front together(world.goal);
    for (const auto& [begin, end] :
         {std::pair(PointIndex{0}, border), std::pair(border, world.grid->count())}) {
      FrontSearch search(*world.grid, world.goal, knowledge, begin, end);
      run_points(
          search,
          [&](PointIndex point, const PointEffort& effort) { return world.answer(point, effort); },
          {});
      REQUIRE(sorted(indices(search.front())) == brute_force(world, begin, end));
      for (const Front::Member& member : search.front().members()) {
        together.add(member.index, member.rank, member.figures);
      }
    }
    REQUIRE(sorted(indices(together)) == brute_force(world, 0, world.grid->count()));
  }
}

TEST_CASE("a search that is interrupted goes on with what it knows") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    World world(seed);
    std::map<PointIndex, PointAnswer> journal;
    const PointKnowledge knowledge{.growth = world.growth,
                                   .facts = [&](PointIndex point) { return world.facts(point); },
                                   .known =
                                       [&](PointIndex point) {
                                         const auto found = journal.find(point);
                                         return found == journal.end() ? nullptr : &found->second;
                                       }};
    std::size_t most = world.draw(5);
    for (;;) {
      FrontSearch search(*world.grid, world.goal, knowledge, 0, world.grid->count());
      std::atomic<bool> stop = journal.size() >= most;
      std::size_t now = 0;
      const bool done = run_points(search,
                                   [&](PointIndex point, const PointEffort& effort) {
                                     REQUIRE_FALSE(journal.contains(point));
                                     return world.answer(point, effort);
                                   },
                                   {.deadline = Deadline(Seconds::infinity(), &stop),
                                    .on_answer = [&](const PointAnswer& answer) {
                                      journal.emplace(answer.index, answer);
                                      if (++now >= most) stop = true;
                                    }});
      if (done) {
        REQUIRE(sorted(indices(search.front())) == brute_force(world, 0, world.grid->count()));
        break;
      }
      ++most;
    }
  }
}

TEST_CASE("all points are solved once, long ones with all threads") {
  const Grid grid({{"a", std::vector<std::string>(50, "x"), 0}}, {{{{0, {7}}}}});
  std::mutex mutex;
  std::multiset<PointIndex> whole;
  AllPoints points(grid, 0, grid.count(), [](PointIndex) { return nullptr; });
  const bool done = run_points(points,
                               [&](PointIndex point, const PointEffort& effort) {
                                 PointAnswer answer;
                                 answer.index = point;
                                 answer.status = PointStatus::Optimal;
                                 answer.exact = true;
                                 if (!effort.whole && point % 5 == 0) {
                                   answer.stopped_by_effort = true;
                                   return answer;
                                 }
                                 const std::lock_guard lock(mutex);
                                 whole.insert(point);
                                 CHECK(effort.threads == (effort.whole ? 2 : 1));
                                 return answer;
                               },
                               {.threads = 2});
  CHECK(done);
  CHECK(whole.size() == 49);
  CHECK(whole.count(7) == 0);
  CHECK(points.count().solved == 49);
}

TEST_CASE("what solving throws ends the run") {
  const Grid grid({{"a", std::vector<std::string>(50, "x"), 0}}, {});
  for (const int threads : {1, 2}) {
    AllPoints points(grid, 0, grid.count(), [](PointIndex) { return nullptr; });
    CHECK_THROWS_WITH_AS(run_points(points,
                                    [](PointIndex, const PointEffort&) -> PointAnswer {
                                      throw std::runtime_error("broken");
                                    },
                                    {.threads = threads}),
                         "broken", std::runtime_error);
  }
}

}  // namespace
}  // namespace dfsearch::study
