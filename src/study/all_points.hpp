#pragma once
// All points of a study, one after the other.

#include <functional>

#include "study/grid.hpp"
#include "study/point_source.hpp"

namespace dfsearch::study {

class AllPoints : public PointSource {
 public:
  /// The points from `begin` to before `end`, but those that `known` says are answered already.
  AllPoints(const Grid& grid, PointIndex begin, PointIndex end,
            std::function<const PointAnswer*(PointIndex)> known);

  std::optional<PointIndex> next() override;
  bool wants(const PointAnswer&) override { return true; }
  void take(const PointAnswer& answer) override;
  [[nodiscard]] StudyCount count() const override { return count_; }

 private:
  const Grid& grid_;
  const std::function<const PointAnswer*(PointIndex)> known_;
  PointIndex next_;
  const PointIndex end_;
  StudyCount count_;
};

/// Counts one answered point.
void add_to(StudyCount& count, const PointAnswer& answer);

}  // namespace dfsearch::study
