// Coordinate descent (Powell, The Computer Journal 7, 1964): a golden-section search along each
// constant, as a share of its range, and then along the total change of the round, which follows a
// valley between two constants.  A round that gains little halves the length of the sections.

#include "io/predict/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

using Point = std::vector<double>;

constexpr double kGolden = 0.6180339887498949;
constexpr int kCuts = 8;                   // steps of a section, which shrink it to a fiftieth
constexpr double kShortest = 1.0 / 512.0;  // least length of a section, as a share of the range
constexpr double kGain = 0.002;            // least relative gain that keeps the length
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
  Descent(const std::vector<FittedConstant>& constants, const FitControl& control,
          const std::function<double(const Point&)>& objective)
      : constants_(constants), control_(control), objective_(objective) {
    for (const FittedConstant& constant : constants) {
      const auto& [low, high] = constant.range;
      best_.push_back(std::clamp(constant.before, low, high));
      at_.push_back(share_of(constant.range, best_.back()));
    }
    least_ = objective(best_);
  }

  Point run() {
    double width = 0.5;
    for (int round = 0; round < kRounds && width >= kShortest && goes_on(); ++round) {
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
  [[nodiscard]] bool goes_on() const { return !control_.is_stopped(); }

  /// Searches along a direction, up to `reach` times its length both ways.
  void section(const Point& direction, double reach) {
    const Point from = at_;
    const auto at = [&](double step) {
      Point shares = from, values(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        shares[i] = std::clamp(from[i] + step * direction[i], 0.0, 1.0);
        values[i] = value_at(constants_[i].range, shares[i]);
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
    for (int cut = 0; cut < kCuts && goes_on(); ++cut) {
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

  const std::vector<FittedConstant>& constants_;
  const FitControl& control_;
  const std::function<double(const Point&)>& objective_;
  Point at_;  ///< shares of the ranges
  Point best_;
  double least_ = 0.0;
};

}  // namespace

std::string chosen_name(const std::set<std::string>& names, const std::string& asked,
                        std::string_view what, std::string_view one) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (asked.empty() && known.size() == 1) return *names.begin();
  if (asked.empty()) {
    throw InputError(fmt::format("--fit: {}s are of several {}s, choose one with --stack {}", one,
                                 what, joined_choices(known)));
  }
  if (!names.contains(asked)) {
    throw InputError(fmt::format("--stack: no timed {} has {}, expected {}{}", one,
                                 in_quotes(asked), joined_choices(known),
                                 suggestion(asked, known)));
  }
  return asked;
}

double rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<double> fitted_values(
    const std::vector<FittedConstant>& constants, int digits, FitState state,
    const FitControl& control, const std::function<double(const std::vector<double>&)>& objective) {
  state.error = std::numeric_limits<double>::infinity();
  const std::function<double(const Point&)> counted = [&](const Point& values) {
    const double error = objective(values);
    state.error = std::min(state.error, error);
    ++state.tries;
    control.tell(state);
    return error;
  };
  Point values = Descent(constants, control, counted).run();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [low, high] = constants[i].range;
    values[i] = std::clamp(rounded(values[i], digits), low, high);
  }
  return values;
}

std::string fit_report(const Fit& fit) {
  TextTable table({"before", "after", "low", "high", "constant of " + fit.name});
  for (const auto& [key, before, after, range, row] : fit.constants) {
    const Unit* const unit = row ? row->type->inner->unit : nullptr;
    const auto text = [unit](double value) {
      return unit ? unit->text(value) : fmt::format("{:.4g}", value);
    };
    const bool at_end = after <= range.low || after >= range.high;
    table.add({text(before), text(after), text(range.low), text(range.high)},
              {std::string(key) + (at_end ? ", at the end of its range" : "")});
  }
  const auto errors = [](double before, double after) {
    return fmt::format("{:.1f} % off before, {:.1f} % after\n", 100.0 * before, 100.0 * after);
  };
  std::string text = table.text();
  text += fmt::format("\n{} {}s that it was fitted to: {}", fit.rows, fit.one,
                      errors(fit.before, fit.after)) +
          fit.checked;
  if (fit.held_out > 0) {
    text += fmt::format("{} {}s held out: {}", fit.held_out, fit.one,
                        errors(fit.held_before, fit.held_after));
  }
  return text;
}

std::string lines_of(const Type& type, const void* object) {
  const auto line = [](const Json& json) {
    std::string value = json_line(json);
    std::erase(value, '"');  // words and quantities need no quotes
    return value + "\n";
  };
  std::string text;
  const Json keys = written(type, object);
  for (const auto& entry : keys.items()) {
    const Json& value = entry.value();
    const bool is_list = value.is_array() && !value.empty() && value.front().is_object();
    text += entry.key() + (is_list ? ":\n" : ": " + line(value));
    if (!is_list) continue;
    for (const Json& item : value) text += "  - " + line(item);
  }
  return text;
}

std::string fitted_file(const Fit& fit, const std::string& table) {
  return fmt::format(
             "# {}, fitted to {} {}s of {}\n# source: {:.1f} % off these, {:.1f} % before\n",
             escaped(fit.name), fit.rows, fit.one, escaped(table), 100.0 * fit.after,
             100.0 * fit.before) +
         fit.lines;
}

}  // namespace dfsearch
