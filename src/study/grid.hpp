#pragma once
// The points of a study: all combinations of the choices of its axes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/words.hpp"

namespace dfsearch::study {

/// Number of a point from 0, with the last dimension fastest.
using PointIndex = std::int64_t;
/// The place of a choice, for each dimension.
using Choices = std::vector<std::int32_t>;

/// A named list of choices.  Zipped axes share one dimension.
struct Axis {
  std::string name;
  std::vector<std::string> labels;
  std::size_t dimension = 0;
};

/// All combinations whose place is one of the listed (ascending) places in each listed dimension.
struct Selection {
  std::vector<std::pair<std::size_t, std::vector<std::int32_t>>> places;

  [[nodiscard]] bool has(const Choices& choices) const;
};

/// Choices of each dimension from `first` to `last`, both included.
struct Box {
  Choices first;
  Choices last;

  [[nodiscard]] bool is_point() const { return first == last; }
  [[nodiscard]] bool contains(const Choices& choices) const;
};

/// Order of the choices of a dimension.
enum class Growth : std::uint8_t {
  None,       ///< unknown: choices cannot be compared
  Ascending,  ///< no quantity, price or power is less in a later choice
  Descending,
};

using dfsearch::name_of;
constexpr auto words(Growth) {
  return named<Growth>({{"none", Growth::None},
                        {"ascending", Growth::Ascending},
                        {"descending", Growth::Descending}});
}

/// The product of dimensions, without the exclusions.  Immutable: any thread.
class Grid {
 public:
  /// `axes` of one dimension have equally many labels; there are at most 2^40 points.
  Grid(std::vector<Axis> axes, std::vector<Selection> excluded);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t dimensions() const { return sizes_.size(); }
  [[nodiscard]] std::int32_t size(std::size_t dimension) const { return sizes_[dimension]; }
  /// Number of points of the whole product.
  [[nodiscard]] std::int64_t count() const { return count_; }

  [[nodiscard]] PointIndex index(const Choices& choices) const;
  [[nodiscard]] Choices choices(PointIndex index) const;
  [[nodiscard]] bool is_excluded(const Choices& choices) const;
  [[nodiscard]] const std::string& label(std::size_t axis, const Choices& choices) const;
  /// The name of each axis and its label at a point.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> labels(PointIndex index) const;

  /// Renumbers the points: earlier choices first in dimensions of Growth::None, greater choices
  /// first in other dimensions.  The first of equal points in this order represents all.
  [[nodiscard]] PointIndex rank(const Choices& choices, const std::vector<Growth>& growth) const;

  /// Boxes that hold the points from `begin` to before `end`, each once.
  [[nodiscard]] std::vector<Box> boxes(PointIndex begin, PointIndex end) const;
  [[nodiscard]] std::int64_t count(const Box& box) const;
  [[nodiscard]] std::int64_t included(const Box& box) const;
  [[nodiscard]] std::int64_t included(PointIndex begin, PointIndex end) const;

 private:
  std::vector<Axis> axes_;
  std::vector<Selection> excluded_;
  std::vector<std::int32_t> sizes_;
  std::int64_t count_ = 1;
};

}  // namespace dfsearch::study
