
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "study/point_source.hpp"

namespace dfsearch::study {
namespace {

/// Ten points; the run is stopped while one of them is being solved.
struct StoppedRun {
  explicit StoppedRun(bool cuts) {
    const Grid grid({{"a", std::vector<std::string>(10, "x"), 0}}, {});
    AllPoints source(grid, 0, grid.count(), [](PointIndex) { return nullptr; });
    std::atomic<bool> stop = false;
    const auto solve = [&](PointIndex point, const PointEffort&) {
      PointAnswer answer;
      answer.index = point;
      // A search may end at the moment of its proof.
      answer.status = PointStatus::Optimal;
      answer.stopped_by_clock = point == 2 || (cuts && point == 4);
      if (point == 4) stop = true;
      return answer;
    };
    done = run_points(
        source, solve,
        {.deadline = Deadline(Seconds::infinity(), &stop),
         .on_answer = [&](const PointAnswer& answer) { answered.push_back(answer.index); }});
    solved = source.count().solved;
  }

  bool done = true;
  std::vector<PointIndex> answered;
  std::int64_t solved = 0;
};

TEST_CASE("what a stop cuts short is left to the next run, what its own limit cuts is not") {
  const StoppedRun cut(true);
  CHECK_FALSE(cut.done);
  CHECK(cut.answered == std::vector<PointIndex>{0, 1, 2, 3});
  CHECK(cut.solved == 4);
  CHECK(StoppedRun(false).answered == std::vector<PointIndex>{0, 1, 2, 3, 4});
}

}  // namespace
}  // namespace dfsearch::study
