// Coordinate descent: golden sections along one number after the other, all as shares of their
// ranges, and then along what a round of them changed, which follows a valley between two numbers
// (Powell, The Computer Journal 7, 1964).  Sections become shorter as rounds gain less.

#include "io/predict/coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace dfsearch {
namespace {

using Point = std::vector<double>;

constexpr double kGolden = 0.6180339887498949;
constexpr int kCuts = 8;                   // of a section: to a fiftieth of it
constexpr double kShortest = 1.0 / 512.0;  // of a range
constexpr double kGain = 0.002;            // of a round that is worth another one as wide
constexpr int kRounds = 60;

double value_at(const FitRange& range, double share) {
  if (share <= 0.0) return range.low;
  if (share >= 1.0) return range.high;
  if (range.low > 0.0) return range.low * std::pow(range.high / range.low, share);
  return range.low + (range.high - range.low) * share;
}

double share_of(const FitRange& range, double value) {
  if (!(range.high > range.low)) return 0.0;
  const double share = range.low > 0.0 && value > 0.0
                           ? std::log(value / range.low) / std::log(range.high / range.low)
                           : (value - range.low) / (range.high - range.low);
  return std::clamp(share, 0.0, 1.0);
}

class Descent {
 public:
  Descent(const std::vector<FitRange>& ranges, const Point& start,
          const std::function<double(const Point&)>& objective,
          const std::function<bool()>& goes_on)
      : ranges_(ranges), objective_(objective), goes_on_(goes_on), best_(start) {
    for (std::size_t i = 0; i < ranges.size(); ++i) at_.push_back(share_of(ranges[i], start[i]));
    least_ = objective(start);
  }

  Point run() {
    double width = 0.5;
    for (int round = 0; round < kRounds && width >= kShortest && goes_on_(); ++round) {
      const Point before = at_;
      const double least_before = least_;
      for (std::size_t i = 0; i < at_.size(); ++i) {
        Point direction(at_.size(), 0.0);
        direction[i] = 1.0;
        section(direction, width);
      }
      Point direction = at_;
      for (std::size_t i = 0; i < at_.size(); ++i) direction[i] -= before[i];
      if (direction != Point(at_.size(), 0.0)) section(direction, 2.0);
      if (!(least_before - least_ > kGain * least_before)) width *= 0.5;
    }
    return best_;
  }

 private:
  /// From here as far as `reach` times the direction both ways.
  void section(const Point& direction, double reach) {
    const Point from = at_;
    const auto at = [&](double step) {
      Point shares = from, values(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        shares[i] = std::clamp(from[i] + step * direction[i], 0.0, 1.0);
        values[i] = value_at(ranges_[i], shares[i]);
      }
      const double found = objective_(values);
      if (found < least_) {
        least_ = found;
        at_ = shares;
        best_ = values;
      }
      return found;
    };
    double low = -reach, high = reach;
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    double at_left = at(left), at_right = at(right);
    for (int cut = 0; cut < kCuts && goes_on_(); ++cut) {
      if (at_left < at_right) {
        high = std::exchange(right, left);
        left = high - kGolden * (high - low);
        at_right = std::exchange(at_left, at(left));
      } else {
        low = std::exchange(left, right);
        right = low + kGolden * (high - low);
        at_left = std::exchange(at_right, at(right));
      }
    }
  }

  const std::vector<FitRange>& ranges_;
  const std::function<double(const Point&)>& objective_;
  const std::function<bool()>& goes_on_;
  Point at_;  ///< shares of the ranges
  Point best_;
  double least_ = 0.0;
};

}  // namespace

std::vector<double> least_by_coordinates(const std::vector<FitRange>& ranges, const Point& start,
                                         const std::function<double(const Point&)>& objective,
                                         const std::function<bool()>& goes_on) {
  return Descent(ranges, start, objective, goes_on).run();
}

}  // namespace dfsearch
