// The maxima of a set of vectors (Kung, Luccio and Preparata 1975): maximal points with two
// coordinates descend in one as they ascend in the other.
//
// Against each met excess in turn: tests/engine/duals/label_dominance_test.cpp.

#include "engine/duals/label_dominance.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>

namespace dfsearch {
namespace {

constexpr int kParts = static_cast<int>(std::tuple_size_v<PartExcess>);

/// The set of parts that matter, as bits.
unsigned kind_of(const PartExcess& excess) {
  unsigned kind = 0;
  for (int r = 0; r < kParts; ++r) {
    if (excess[static_cast<std::size_t>(r)] != kNoMatter) kind |= 1U << r;
  }
  return kind;
}

std::size_t first_of(unsigned kind) { return static_cast<std::size_t>(std::countr_zero(kind)); }
/// For a kind with one part this equals first_of.
std::size_t second_of(unsigned kind) { return static_cast<std::size_t>(std::bit_width(kind)) - 1; }

bool has_front(unsigned kind) { return kind != 0 && std::popcount(kind) <= 2; }

}  // namespace

void LabelDominance::clear() {
  all_.clear();
  for (Front& front : fronts_) front.clear();
}

void LabelDominance::add(const PartExcess& excess) {
  all_.push_back(excess);
  const unsigned own = kind_of(excess);
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if ((own & ~kind) != 0 || !has_front(kind)) continue;
    Front& front = fronts_[kind];
    const Point point{.first = excess[first_of(kind)], .second = excess[second_of(kind)]};
    const auto begin = std::partition_point(front.begin(), front.end(),
                                            [&](const Point& p) { return p.first > point.first; });
    if (begin != front.begin() && std::prev(begin)->second >= point.second) continue;
    if (begin != front.end() && begin->first == point.first && begin->second >= point.second) {
      continue;
    }
    const auto end = std::partition_point(begin, front.end(),
                                          [&](const Point& p) { return p.second <= point.second; });
    if (begin == end) {
      front.insert(begin, point);
    } else {
      *begin = point;
      front.erase(std::next(begin), end);
    }
  }
}

bool LabelDominance::has_as_great(const PartExcess& excess, std::int64_t& comparisons) const {
  const unsigned kind = kind_of(excess);
  if (has_front(kind)) {
    const Front& front = fronts_[kind];
    comparisons += static_cast<std::int64_t>(std::bit_width(front.size()));
    const auto end = std::partition_point(front.begin(), front.end(), [&](const Point& p) {
      return p.first >= excess[first_of(kind)];
    });
    return end != front.begin() && std::prev(end)->second >= excess[second_of(kind)];
  }
  comparisons += static_cast<std::int64_t>(all_.size());
  return std::any_of(all_.begin(), all_.end(), [&](const PartExcess& other) {
    return std::equal(other.begin(), other.end(), excess.begin(), std::greater_equal<>{});
  });
}

}  // namespace dfsearch
