#pragma once
// The exact front of a study without solving all of its points (docs/search.md, section 16).

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/deadline.hpp"
#include "study/figure.hpp"
#include "study/grid.hpp"
#include "study/point_source.hpp"

namespace dfsearch::study {

/// Range that a figure of points on the front must have.
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
  /// Whether the limits may allow a point whose figures are no better than these.
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

  /// Adds the point unless it is beaten or not allowed, and drops the points that it beats; returns
  /// true if it was added.
  bool add(PointIndex index, PointIndex rank, const Figures& figures);
  /// Whether a member beats all points whose figures are no better and whose rank is no lower.
  [[nodiscard]] bool beats(const Figures& best, PointIndex rank) const;
  /// Members ordered by the first figure, then by point.  Figures that differ by roundings alone
  /// are equal here.
  [[nodiscard]] std::vector<Member> members() const;

 private:
  const Goal& goal_;
  std::vector<Member> members_;
};

/// Facts about points that need no search.
struct PointKnowledge {
  std::vector<Growth> growth;  ///< of each dimension
  std::function<PointFacts(PointIndex)> facts;
  /// Returns the answer of an earlier run, or null.
  std::function<const PointAnswer*(PointIndex)> known;
};

/// Branch and bound over boxes of points.  Members of the front are exact if every answer is
/// proved.
class FrontSearch : public PointSource {
 public:
  /// Searches the points from `begin` to before `end`.  All arguments but the deadline must outlive
  /// it. Throws Stopped, and InputError if there are too many points to be taken one by one.
  FrontSearch(const Grid& grid, const Goal& goal, const PointKnowledge& knowledge, PointIndex begin,
              PointIndex end, const Deadline& deadline = {});

  std::optional<PointIndex> next() override;
  bool wants(const PointAnswer& answer) override;
  void take(const PointAnswer& answer) override;
  [[nodiscard]] StudyCount count() const override;

  [[nodiscard]] const Front& front() const { return front_; }

 private:
  struct Node {
    Box box;
    PointFacts least;         ///< of the cheapest point
    double step_bound = 0.0;  ///< of all points
    double order = 0.0;
    PointIndex rank = 0;  ///< least rank in the box
  };
  struct Later {
    bool operator()(const Node& a, const Node& b) const;
  };
  struct PointBounds {
    PointStatus status = PointStatus::NoSolution;
    double step_bound = 0.0;
    bool whole = true;  ///< false: the point was solved with limited effort
  };

  void open(Box box, double step_bound, const Deadline& deadline);
  void split(const Node& node);
  void proceed(Node node, const PointBounds& answer);
  [[nodiscard]] bool is_beaten(const Node& node, double step_bound) const;
  [[nodiscard]] Choices fastest(const Box& box) const;
  [[nodiscard]] PointIndex cheapest(const Box& box) const;
  [[nodiscard]] std::size_t dimension_to_split(const Node& node) const;
  void add(const PointAnswer& answer);
  const PointBounds* answer_of(PointIndex index);
  void check(const Node& node, const PointAnswer& answer) const;

  const Grid& grid_;
  const Goal& goal_;
  const PointKnowledge& knowledge_;
  const Figure order_;
  Front front_;
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::map<PointIndex, std::vector<Node>> waiting_;  // for the answer of a point
  std::unordered_map<PointIndex, PointBounds> known_;
  StudyCount count_;
};

}  // namespace dfsearch::study
