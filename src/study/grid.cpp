#include "study/grid.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/error.hpp"

namespace dfsearch::study {
namespace {

bool has(const std::pair<std::size_t, std::vector<std::int32_t>>& places, std::int32_t place) {
  return std::binary_search(places.second.begin(), places.second.end(), place);
}

/// Counts dimension by dimension.  Places that match the same exclusions are counted together, so
/// the work depends on the exclusions and not on the points.
class IncludedCount {
 public:
  explicit IncludedCount(const Box& box) : box_(box) {}

  /// Number of points, over the dimensions from this one on, that no exclusion excludes.  The
  /// exclusions in `hold` match the places chosen in the earlier dimensions.
  std::int64_t count(std::size_t dimension, const std::vector<const Selection*>& hold) {
    if (dimension == box_.first.size()) return hold.empty() ? 1 : 0;
    if (hold.empty())
      return (box_.last[dimension] - box_.first[dimension] + 1) * count(dimension + 1, hold);
    std::map<std::vector<const Selection*>, std::int64_t> alike;
    for (std::int32_t place = box_.first[dimension]; place <= box_.last[dimension]; ++place) {
      std::vector<const Selection*> still;
      std::copy_if(
          hold.begin(), hold.end(), std::back_inserter(still),
          [&](const Selection* exclusion) { return may_have(*exclusion, dimension, place); });
      ++alike[std::move(still)];
    }
    std::int64_t sum = 0;
    for (const auto& [still, places] : alike) {
      const bool all_out = std::any_of(still.begin(), still.end(), [&](const Selection* exclusion) {
        return is_over(*exclusion, dimension + 1);
      });
      if (!all_out) sum += places * count(dimension + 1, still);
    }
    return sum;
  }

 private:
  static bool may_have(const Selection& exclusion, std::size_t dimension, std::int32_t place) {
    return std::all_of(exclusion.places.begin(), exclusion.places.end(), [&](const auto& places) {
      return places.first != dimension || has(places, place);
    });
  }
  /// Whether the exclusion has no condition on the dimensions from this one on.
  static bool is_over(const Selection& exclusion, std::size_t dimension) {
    return std::all_of(exclusion.places.begin(), exclusion.places.end(),
                       [&](const auto& places) { return places.first < dimension; });
  }

  const Box& box_;
};

}  // namespace

bool Box::contains(const Choices& choices) const {
  for (std::size_t d = 0; d < choices.size(); ++d) {
    if (choices[d] < first[d] || choices[d] > last[d]) return false;
  }
  return true;
}

bool Selection::has(const Choices& choices) const {
  return std::all_of(places.begin(), places.end(),
                     [&](const auto& some) { return study::has(some, choices[some.first]); });
}

Grid::Grid(std::vector<Axis> axes, std::vector<Selection> excluded)
    : axes_(std::move(axes)), excluded_(std::move(excluded)) {
  for (const Axis& axis : axes_) {
    const auto size = static_cast<std::int32_t>(axis.labels.size());
    if (axis.dimension == sizes_.size()) sizes_.push_back(size);
    DFSEARCH_ASSERT(axis.dimension < sizes_.size() && sizes_[axis.dimension] == size);
  }
  for (const std::int32_t size : sizes_) count_ *= size;
}

PointIndex Grid::index(const Choices& choices) const {
  PointIndex index = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) index = index * sizes_[d] + choices[d];
  return index;
}

Choices Grid::choices(PointIndex index) const {
  Choices choices(sizes_.size());
  for (std::size_t d = sizes_.size(); d > 0; --d) {
    choices[d - 1] = static_cast<std::int32_t>(index % sizes_[d - 1]);
    index /= sizes_[d - 1];
  }
  return choices;
}

bool Grid::is_excluded(const Choices& choices) const {
  return std::any_of(excluded_.begin(), excluded_.end(),
                     [&](const Selection& out) { return out.has(choices); });
}

const std::string& Grid::label(std::size_t axis, const Choices& choices) const {
  const Axis& of = axes_[axis];
  return of.labels[static_cast<std::size_t>(choices[of.dimension])];
}

std::vector<std::pair<std::string, std::string>> Grid::labels(PointIndex index) const {
  const Choices at = choices(index);
  std::vector<std::pair<std::string, std::string>> labels;
  for (std::size_t a = 0; a < axes_.size(); ++a) labels.emplace_back(axes_[a].name, label(a, at));
  return labels;
}

PointIndex Grid::rank(const Choices& choices, const std::vector<Growth>& growth) const {
  PointIndex rank = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    const bool flipped = growth[d] == Growth::Ascending;
    rank = rank * sizes_[d] + (flipped ? sizes_[d] - 1 - choices[d] : choices[d]);
  }
  return rank;
}

std::vector<Box> Grid::boxes(PointIndex begin, PointIndex end) const {
  std::vector<Box> boxes;
  // Takes the greatest box that begins at `begin`: some last dimensions whole, and a run of the
  // dimension before them.
  while (begin < end) {
    std::int64_t whole = 1;  // points of the dimensions from d on
    std::size_t d = sizes_.size();
    while (d > 0 && begin % (whole * sizes_[d - 1]) == 0 && begin + whole * sizes_[d - 1] <= end) {
      whole *= sizes_[--d];
    }
    Box box{choices(begin), choices(begin)};
    for (std::size_t inner = d; inner < sizes_.size(); ++inner) box.last[inner] = sizes_[inner] - 1;
    std::int64_t run = 1;
    if (d > 0) {
      const std::int64_t left = sizes_[d - 1] - box.first[d - 1];
      run = std::clamp<std::int64_t>((end - begin) / whole, 1, left);
      box.last[d - 1] = static_cast<std::int32_t>(box.first[d - 1] + run - 1);
    }
    boxes.push_back(std::move(box));
    begin += whole * run;
  }
  return boxes;
}

std::int64_t Grid::count(const Box& box) const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < sizes_.size(); ++d) count *= box.last[d] - box.first[d] + 1;
  return count;
}

std::int64_t Grid::included(const Box& box) const {
  std::vector<const Selection*> all;
  for (const Selection& exclusion : excluded_) all.push_back(&exclusion);
  return IncludedCount(box).count(0, all);
}

std::int64_t Grid::included(PointIndex begin, PointIndex end) const {
  std::int64_t count = 0;
  for (const Box& box : boxes(begin, end)) count += included(box);
  return count;
}

}  // namespace dfsearch::study
