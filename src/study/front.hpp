#pragma once
// The points that no other point beats.

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

/// By what points are compared, and which take part.
struct Goal {
  std::vector<Figure> figures;  ///< at least one; the first orders the front
  std::vector<FigureLimit> limits;

  /// Whether figures are within the limits.
  [[nodiscard]] bool allows(const Figures& figures) const;
  /// The same of figures that are at best so good.
  [[nodiscard]] bool may_allow(const Figures& best) const;
};

/// Points of which none is beaten: another one at least as good in all figures and better in one, or
/// equal in all and of lower rank.  The result does not depend on the order of what is added.
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
  /// Whether a member beats all points that are at best so good and have at least this rank.
  [[nodiscard]] bool beats(const Figures& best, PointIndex rank) const;
  /// In the order of the first figure, then of points.  Figures that differ by roundings alone are
  /// equal here.
  [[nodiscard]] std::vector<Member> members() const;

 private:
  const Goal& goal_;
  std::vector<Member> members_;
};

}  // namespace dfsearch::study
