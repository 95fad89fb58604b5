// Beams against brute force, the plain model and themselves step by step.

#include "engine/fusion/beam_fusion.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/fusion/lazy_improvement.hpp"
#include "engine/fusion/relaxed_fusion.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "support/check_fusion.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;  // steps

/// A point of a world with a first fusion.
class Start {
 public:
  Start(Problem problem, std::uint64_t seed)
      : problem_(std::move(problem)), search_(problem_), point_(point_of(seed)) {
    context_ = search_.for_ties({}).open(point_);
    if (problem_.execution.style == Style::KernelByKernel) return;
    if (!BeamSearch::is_possible(tables()) || tables().decisions().spilled) return;
    segments_ = best_segments(tables());
  }

  [[nodiscard]] const FusionTables& tables() const { return context_->tables; }
  /// Nothing if there is none or no beam is possible.
  [[nodiscard]] const std::optional<Fusion>& segments() const { return segments_; }
  void check(const Fusion& fusion) const { test::check_fusion(problem_, search_, point_, fusion); }

 private:
  [[nodiscard]] OuterPoint point_of(std::uint64_t seed) const {
    const auto points = outer_points(problem_);
    return seed % 2 == 0 ? points.front() : points.back();
  }

  const Problem problem_;
  const MappingProblem search_;
  const OuterPoint point_;
  std::shared_ptr<const FusionContext> context_;
  std::optional<Fusion> segments_;
};

/// With a network and a sharding that are given.
Problem world(std::uint64_t seed) {
  test::WorldLimits limits;
  limits.kernels = 9;
  limits.assignments = 1e9;
  return test::random_problem(seed, limits);
}

TEST_CASE("beams end with a fusion that is allowed, costed right and never better than the best") {
  int better = 0;
  int best = 0;
  int searched = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    const Start start(world(seed), seed);
    if (!start.segments()) continue;
    ++searched;
    BeamSearch beams(start.tables(), *start.segments());
    CHECK(beams.best().time == start.segments()->time);
    Ticks before = beams.best().time;
    for (bool ended = false; !ended;) {
      ended = beams.advance(kMany);
      REQUIRE(beams.best().time <= before);
      if (beams.best().time < before) start.check(beams.best());
      before = beams.best().time;
    }
    const RelaxedFusion exact = relaxed_fusion(start.tables(), kNever - 1, kMany);
    REQUIRE(exact.fusion);
    CHECK(before >= exact.bound);
    better += before < start.segments()->time;
    best += before == exact.fusion->time;
  }
  CHECK(searched > 1'500);
  CHECK(better > 100);
  CHECK(2 * best > searched);
}

TEST_CASE("how many steps a call may take makes no difference") {
  int better = 0;
  int interrupted = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    const Start start(world(seed), seed);
    if (!start.segments()) continue;
    BeamSearch one(start.tables(), *start.segments());
    BeamSearch other(start.tables(), *start.segments());
    int calls = 0;
    while (!one.advance(1)) ++calls;
    int beams = 0;
    while (!other.advance(kMany)) ++beams;
    REQUIRE(calls >= beams);
    interrupted += calls > beams;
    CHECK(one.best().partition == other.best().partition);
    CHECK(one.best().time == other.best().time);
    better += one.best().time < start.segments()->time;
  }
  CHECK(better > 50);
  CHECK(interrupted > 1'000);
}

TEST_CASE("a beam goes on from what is better and gives it back") {
  int told = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    CAPTURE(seed);
    const Start start(world(seed), seed);
    if (!start.segments()) continue;
    const RelaxedFusion exact = relaxed_fusion(start.tables(), kNever - 1, kMany);
    REQUIRE(exact.fusion);
    if (exact.fusion->time == start.segments()->time) continue;
    ++told;
    BeamSearch beams(start.tables(), *start.segments());
    beams.go_on_from(*exact.fusion);
    CHECK(beams.best().partition == exact.fusion->partition);
    beams.go_on_from(*start.segments());
    while (!beams.advance(kMany)) {
    }
    CHECK(beams.best().time == exact.fusion->time);
  }
  CHECK(told > 20);
}

TEST_CASE("graphs of some size have beams first, the same whoever makes the attempts") {
  int by_beam = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    auto problem = test::large_problem(seed, 64);
    if (!problem) continue;
    const Start start(std::move(*problem), seed);
    if (!start.segments()) continue;
    const LazyImprovement one(start.tables());
    const LazyImprovement other(start.tables());
    const auto last = other.after(6, LazyImprovement::Make::All);
    Ticks before = start.segments()->time;
    for (int attempts = 1; attempts <= 6; ++attempts) {
      const auto found = one.after(attempts, LazyImprovement::Make::All);
      if (!found.fusion) break;
      CHECK(found.fusion->time <= before);
      if (found.found_by == 'A' && found.fusion->time < before) {
        ++by_beam;
        start.check(*found.fusion);
      }
      before = found.fusion->time;
    }
    if (last.fusion) CHECK(last.fusion->time == before);
  }
  CHECK(by_beam > 3);
}

}  // namespace
}  // namespace dfsearch
