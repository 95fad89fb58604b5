#pragma once
// The Pareto front of points.

#include <vector>

#include "study/figure.hpp"
#include "study/grid.hpp"

namespace dfsearch::study {

/// Least and most that a figure of a point of the front may be.
struct FigureLimit {
  Figure figure;
  double least;
  double most;
};

/// Figures that compare points, and limits that exclude points.
struct Goal {
  std::vector<Figure> figures;  ///< at least one; the first orders the front
  std::vector<FigureLimit> limits;

  [[nodiscard]] bool allows(const Figures& figures) const;
  /// Whether the limits can allow a point whose figures are at best these.
  [[nodiscard]] bool may_allow(const Figures& best) const;
};

/// Points that no other point beats.  A point beats another if it is at least as good in all
/// figures and better in one, or equal in all and of lower rank.  The result does not depend on the
/// order in which points are added.
class Front {
 public:
  struct Member {
    PointIndex index;
    PointIndex rank;
    Figures figures;
  };

  explicit Front(const Goal& goal) : goal_(goal) {}

  /// Takes the point unless it is beaten or not allowed, and drops those it beats; true if taken.
  bool add(PointIndex index, PointIndex rank, const Figures& figures);
  /// Whether a member beats all points with at best these figures and at least this rank.
  [[nodiscard]] bool beats(const Figures& best, PointIndex rank) const;
  /// Members ordered by the first figure, then by point.  Figures that differ by roundings alone
  /// are equal here.
  [[nodiscard]] std::vector<Member> members() const;

 private:
  const Goal& goal_;
  std::vector<Member> members_;
};

}  // namespace dfsearch::study
