// Bucket elimination (base/elimination.hpp) whose cells hold all sums that no other sum precludes.
//
// A sum precludes another sum if it is no greater in both criteria and less in one, or equal in
// both and less in the number that decides ties, or equal in all three and of an earlier choice.
// Adding a number to both leaves the comparisons unchanged (sums are exact).  So if a table has
// sums A and B, and A precludes B, then every total with B is precluded by a total with A.
//
// Tested against brute force: tests/base/least_sum_test.cpp.

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/elimination.hpp"
#include "base/least_sum.hpp"

namespace dfsearch {
namespace {

using elimination::Effort;
using elimination::Elimination;
using elimination::kNone;
using elimination::Summand;
using elimination::Table;
using elimination::Values;

// Some milliseconds of work.
constexpr std::int64_t kStepsBetweenStops = 100'000;

// Bytes of an allocation beyond the requested size.
constexpr std::size_t kAllocation = 16;

void add_to(LexicographicSum& sum, const LexicographicSum& value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

bool is_allowed(const LexicographicSum& sum) {
  return sum[0] < std::numeric_limits<double>::infinity() &&
         sum[1] < std::numeric_limits<double>::infinity();
}

/// All sums that no other sum precludes, ascending.
struct FrontCell {
  std::vector<FrontSum> points;

  void offer(const std::vector<Summand<FrontCell>>& summands, std::size_t width, std::size_t own,
             std::uint8_t value, Effort& effort) {
    // Most summands are single points, and many others are not allowed.
    FrontSum single;
    bool is_single = true;
    for (const Summand<FrontCell>& summand : summands) {
      if (summand.cell->points.empty()) return;
      if (summand.cell->points.size() > 1) is_single = false;
      if (summand.cell->points.size() == 1) add_to(single.sum, summand.cell->points.front().sum);
    }
    if (is_single && is_precluded(single.sum)) return;
    single.values.assign(width, 0);
    if (own != kNone) single.values[own] = value;
    for (const auto& [cell, places] : summands) {
      if (cell->points.size() == 1) put(cell->points.front(), *places, single.values);
    }
    FrontCell sums;
    sums.points.push_back(std::move(single));
    for (const Summand<FrontCell>& summand : summands) {
      if (summand.cell->points.size() == 1) continue;
      const std::size_t pairs = sums.points.size() * summand.cell->points.size();
      effort.take(static_cast<double>(pairs + width));
      if (effort.steps_left < 0.0) return;
      effort.deadline.check(static_cast<std::int64_t>(pairs));
      sums = sums.plus(summand);
    }
    unite(std::move(sums));
  }

  void take(FrontCell&& other, std::size_t variable, std::uint8_t value) {
    for (FrontSum& point : other.points) point.values[variable] = value;
    unite(std::move(other));
  }

  [[nodiscard]] double bytes(std::size_t width) const {
    return static_cast<double>(sizeof(*this) + kAllocation +
                               points.size() * (sizeof(FrontSum) + kAllocation + width));
  }

 private:
  [[nodiscard]] bool is_precluded(const LexicographicSum& sum) const {
    return std::any_of(points.begin(), points.end(), [&](const FrontSum& point) {
      return point.sum < sum && point.sum[1] <= sum[1];
    });
  }

  static void put(const FrontSum& point, const elimination::Variables& places, Values& all) {
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = point.values[i];
  }

  /// Keeps the sums that no other sum precludes.  As sums ascend, these are the sums whose second
  /// number is less than the second numbers of all sums before.
  void thin() {
    std::size_t left = 0;
    for (FrontSum& point : points) {
      if (left > 0 && point.sum[1] >= points[left - 1].sum[1]) continue;
      if (&points[left] != &point) points[left] = std::move(point);
      ++left;
    }
    points.resize(left);
  }

  void unite(FrontCell&& other) {
    const auto middle = static_cast<std::ptrdiff_t>(points.size());
    points.insert(points.end(), std::make_move_iterator(other.points.begin()),
                  std::make_move_iterator(other.points.end()));
    std::inplace_merge(points.begin(), points.begin() + middle, points.end(),
                       [](const FrontSum& a, const FrontSum& b) {
                         return a.sum != b.sum ? a.sum < b.sum : a.values < b.values;
                       });
    thin();
  }

  [[nodiscard]] static Values joined(const FrontSum& a, const FrontSum& b,
                                     const elimination::Variables& places) {
    Values all = a.values;
    put(b, places, all);
    return all;
  }

  /// The sums of a point of each of the two cells that no other such sum precludes.
  [[nodiscard]] FrontCell plus(const Summand<FrontCell>& summand) const {
    struct Pair {
      LexicographicSum sum;
      const FrontSum *a, *b;
    };
    std::vector<Pair> pairs;
    pairs.reserve(points.size() * summand.cell->points.size());
    for (const FrontSum& a : points) {
      for (const FrontSum& b : summand.cell->points) {
        pairs.push_back({.sum = a.sum, .a = &a, .b = &b});
        add_to(pairs.back().sum, b.sum);
      }
    }
    if (points.size() > 1 && summand.cell->points.size() > 1) {
      std::sort(pairs.begin(), pairs.end(),
                [](const Pair& x, const Pair& y) { return x.sum < y.sum; });
    }
    FrontCell sums;
    for (const Pair& pair : pairs) {
      FrontSum* last = sums.points.empty() ? nullptr : &sums.points.back();
      if (last != nullptr && pair.sum[1] >= last->sum[1] && pair.sum != last->sum) continue;
      Values values = joined(*pair.a, *pair.b, *summand.places);
      if (last == nullptr || pair.sum != last->sum) {
        sums.points.push_back({.sum = pair.sum, .values = std::move(values)});
      } else if (values < last->values) {
        last->values = std::move(values);
      }
    }
    return sums;
  }
};

}  // namespace

std::optional<std::vector<FrontSum>> sum_front(const std::vector<std::size_t>& sizes,
                                               const std::vector<LexicographicSumTerm>& terms,
                                               double most_steps, const Deadline& deadline) {
  std::vector<Table<FrontCell>> tables;
  for (const LexicographicSumTerm& term : terms) {
    Table<FrontCell>& table = tables.emplace_back();
    table.variables = term.variables;
    for (const LexicographicSum& value : term.values) {
      FrontCell& cell = table.cells.emplace_back();
      if (is_allowed(value)) cell.points.push_back({.sum = value, .values = {}});
    }
  }
  Effort effort{.steps_left = most_steps, .deadline = PacedDeadline(deadline, kStepsBetweenStops)};
  FrontCell best = Elimination<FrontCell>(sizes, std::move(tables), effort).solve();
  if (effort.steps_left < 0.0) return std::nullopt;
  return std::move(best.points);
}

}  // namespace dfsearch
