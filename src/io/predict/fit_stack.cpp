// A run is prepared once: a try puts constants into its task and times it again.  A wrong constant
// makes times wrong by a factor, so logarithms of errors count; and their absolute values, so that
// a few runs that are slow for other reasons do not decide.

#include "io/predict/fit_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/parallel_for.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/text_table.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kFolds = 5;

using Values = std::vector<double>;
using Indices = std::vector<std::size_t>;

void* typical_of(const Field& row, stack::Stack& stack) {
  void* const constant = row.in(&stack);
  return row.type->at(constant, row.type->size(constant) / 2);
}

FittedConstant constant_of(const std::string& key, stack::Stack stack) {
  FittedConstant constant{.row = stack::constant_of_stack(key)};
  const Field& row = *constant.row;
  void* const member = row.in(&stack);
  if (row.type->size(member) == 0) {
    throw InputError("--fit: " + key + " has no value: expected a low, a typical and a high one");
  }
  const auto value = [&](std::size_t i) {
    return row.type->inner->get_real(row.type->at(member, i));
  };
  const bool has_range = row.type->size(member) == 3;
  constant.before = constant.after = value(has_range ? 1 : 0);
  constant.range = {.low = has_range ? value(0) : constant.before / 2.0,
                    .high = has_range ? value(2) : constant.before * 2.0};
  if (row.limits.given()) constant.range.high = std::min(constant.range.high, row.limits.most);
  if (constant.range.low < constant.range.high) return constant;
  throw InputError("--fit: " + key + " has no range: expected a low, a typical and a high value");
}

/// The middle of a range, by its logarithm unless it begins at 0.
double middle_of(const FitRange& range) {
  return range.low > 0.0 ? std::sqrt(range.low * range.high) : (range.low + range.high) / 2.0;
}

/// Four digits, more than measurements have, so that a file has the same value.
double rounded(double value, const FitRange& range) {
  const std::string text = fmt::format("{:.4g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::clamp(value, range.low, range.high);
}

void put(const std::vector<FittedConstant>& constants, const Values& values, MeasuredRun& run) {
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Field& row = *constants[i].row;
    if (run.says_overlap && row.key == "tensor_overlap") continue;
    row.type->inner->put_real(typical_of(row, run.task->stack->stack), values[i]);
  }
}

/// The stack to be fitted; it must be the stack of some run.
std::string chosen_stack(const std::vector<MeasuredRun>& runs, const std::string& asked) {
  std::set<std::string> names;
  for (const MeasuredRun& run : runs) {
    if (is_timed(run)) names.insert(run.stack);
  }
  if (names.empty()) throw InputError("--fit: no run was timed");
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (asked.empty() && known.size() == 1) return *names.begin();
  if (asked.empty()) {
    throw InputError("--fit: runs have several stacks, expected --stack " + joined_choices(known));
  }
  if (names.count(asked) == 0) {
    throw InputError(fmt::format("--stack: no timed run has {}, expected {}{}", in_quotes(asked),
                                 joined_choices(known), suggestion(asked, known)));
  }
  return asked;
}

/// The value of a run in the column that was read as its mark.
std::string value_of(const MeasuredRun& run, const std::string& column) {
  const std::string value = column == "source" ? short_source(run) : run.mark;
  return value.empty() ? "none" : value;
}

/// The constants that a stack marks.
std::vector<FittedConstant> constants_of(const stack::Stack& stack, const std::string& name) {
  std::vector<FittedConstant> constants;
  for (const std::string& key : stack.fitted) constants.push_back(constant_of(key, stack));
  if (!constants.empty()) return constants;
  throw InputError(fmt::format("--fit: the stack {} marks no constant: its key 'fitted' lists them",
                               in_quotes(name)));
}

/// The timed runs of a stack.
std::vector<MeasuredRun> runs_of(const std::vector<MeasuredRun>& runs, const std::string& stack) {
  std::vector<MeasuredRun> own;
  for (const MeasuredRun& run : runs) {
    if (is_timed(run) && run.stack == stack) own.push_back(run);
  }
  return own;
}

/// Whether each of the runs is held out.
std::vector<bool> held_of(const std::vector<MeasuredRun>& runs, const HeldOut& held_out) {
  std::vector<bool> held(runs.size());
  if (!held_out.column.empty()) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      held[i] = runs[i].mark == held_out.value ||
                (held_out.column == "source" && short_source(runs[i]) == held_out.value);
    }
  } else if (held_out.share > 0.0) {
    Indices order(runs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return hash_of(runs[a].id) < hash_of(runs[b].id);
    });
    order.resize(
        static_cast<std::size_t>(std::llround(held_out.share * static_cast<double>(runs.size()))));
    for (const std::size_t i : order) held[i] = true;
  } else {
    return held;
  }
  const auto count = static_cast<std::size_t>(std::count(held.begin(), held.end(), true));
  if (count == 0) throw InputError("--holdout: none of the runs to fit to is one of these");
  if (count == runs.size()) throw InputError("--holdout: leaves no run to fit to");
  return held;
}

class Fit {
 public:
  Fit(std::vector<MeasuredRun> runs, std::vector<FittedConstant> constants,
      const std::atomic<bool>* stop, const std::function<void(const FitState&)>& tell)
      : runs_(std::move(runs)), constants_(std::move(constants)), stop_(stop), tell_(tell) {}

  [[nodiscard]] bool stopped() const { return stop_ && *stop_; }

  Values fitted(const Indices& rows, FitState state) {
    std::vector<FitRange> ranges;
    for (const FittedConstant& constant : constants_) ranges.push_back(constant.range);
    state.error = std::numeric_limits<double>::infinity();
    const auto objective = [&](const Values& values) {
      double sum = 0.0;
      for (const double ratio : ratios(rows, values)) sum += std::fabs(std::log(ratio));
      const double error = sum / static_cast<double>(rows.size());
      state.error = std::min(state.error, error);
      ++state.tries;
      tell_(state);
      return error;
    };
    Values values = least_by_coordinates(ranges, before(), objective, [&] { return !stopped(); });
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rounded(values[i], ranges[i]);
    return values;
  }

  /// The mean of |predicted / measured - 1|; 0 of none.
  double error(const Indices& rows, const Values& values) {
    double sum = 0.0;
    for (const double ratio : ratios(rows, values)) sum += std::fabs(ratio - 1.0);
    return rows.empty() ? 0.0 : sum / static_cast<double>(rows.size());
  }

  [[nodiscard]] Values before() const {
    Values values;
    for (const FittedConstant& constant : constants_) values.push_back(constant.before);
    return values;
  }

  /// Folds of whole models, as even as possible; of single runs if there is only one model.
  std::vector<Indices> folds(const Indices& rows, bool& whole_models) const {
    std::map<std::pair<std::string, std::string>, Indices> models;
    for (const std::size_t i : rows) models[{short_source(runs_[i]), runs_[i].model}].push_back(i);
    std::vector<Indices> groups;
    whole_models = models.size() > 1;
    for (const auto& [name, group] : models) groups.push_back(group);
    if (!whole_models) {
      groups.clear();
      for (const std::size_t i : rows) groups.push_back({i});
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Indices& a, const Indices& b) { return a.size() > b.size(); });
    std::vector<Indices> folds(std::min(kFolds, groups.size()));
    for (const Indices& group : groups) {
      Indices& least =
          *std::min_element(folds.begin(), folds.end(),
                            [](const Indices& a, const Indices& b) { return a.size() < b.size(); });
      least.insert(least.end(), group.begin(), group.end());
    }
    return folds.size() > 1 ? folds : std::vector<Indices>();
  }

 private:
  /// Predicted / measured.
  Values ratios(const Indices& rows, const Values& values) {
    Values ratios(rows.size());
    parallel_for(rows.size(), [&](std::size_t k) {
      MeasuredRun& run = runs_[rows[k]];
      put(constants_, values, run);
      ratios[k] = training::run_time(*run.task, run.plan).step.in_base_units() / *run.step;
    });
    return ratios;
  }

  std::vector<MeasuredRun> runs_;
  const std::vector<FittedConstant> constants_;
  const std::atomic<bool>* stop_;
  const std::function<void(const FitState&)>& tell_;
};

}  // namespace

std::optional<StackFit> fit_stack(std::vector<MeasuredRun>& runs, const std::string& asked,
                                  const HeldOut& held_out, const std::atomic<bool>* stop,
                                  const std::function<void(const FitState&)>& tell) {
  StackFit result{.name = chosen_stack(runs, asked)};
  std::vector<MeasuredRun> own = runs_of(runs, result.name);
  result.stack = *own.front().software;
  result.constants = constants_of(result.stack, result.name);
  const std::vector<bool> held = held_of(own, held_out);
  Indices rows, others;
  for (std::size_t i = 0; i < own.size(); ++i) (held[i] ? others : rows).push_back(i);
  Fit fit(std::move(own), result.constants, stop, tell);
  const std::vector<Indices> folds = fit.folds(rows, result.whole_models);
  const Values values = fit.fitted(rows, {.folds = folds.size()});
  result.runs = rows.size();
  result.held_out = others.size();
  result.before = fit.error(rows, fit.before());
  result.after = fit.error(rows, values);
  result.held_before = fit.error(others, fit.before());
  result.held_after = fit.error(others, values);
  result.folds = folds.size();
  for (std::size_t k = 0; k < folds.size() && !fit.stopped(); ++k) {
    Indices rest;
    for (std::size_t j = 0; j < folds.size(); ++j) {
      if (j != k) rest.insert(rest.end(), folds[j].begin(), folds[j].end());
    }
    const Values without = fit.fitted(rest, {.fold = k + 1, .folds = folds.size()});
    result.cross_validated += fit.error(folds[k], without) * static_cast<double>(folds[k].size()) /
                              static_cast<double>(rows.size());
  }
  if (fit.stopped()) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    FittedConstant& constant = result.constants[i];
    constant.after = values[i];
    constant.row->type->inner->put_real(typical_of(*constant.row, result.stack), values[i]);
  }
  for (MeasuredRun& run : runs) {
    if (run.task && run.stack == result.name) put(result.constants, values, run);
  }
  return result;
}

std::optional<LeftOut> leave_out(const std::vector<MeasuredRun>& runs, const std::string& asked,
                                 const std::string& column, const std::atomic<bool>* stop,
                                 const std::function<void(const FitState&)>& tell) {
  LeftOut result{.name = chosen_stack(runs, asked)};
  result.runs = runs_of(runs, result.name);
  result.as_they_are = predict_runs(result.runs);
  std::vector<FittedConstant> constants = constants_of(*result.runs.front().software, result.name);
  for (FittedConstant& constant : constants) constant.before = middle_of(constant.range);
  for (const MeasuredRun& run : result.runs) result.values.push_back(value_of(run, column));
  const std::set<std::string> values(result.values.begin(), result.values.end());
  if (values.size() < 2) {
    throw InputError(fmt::format("--leave-out: all runs of {} have one {}, expected two or more",
                                 in_quotes(result.name), column));
  }
  Fit fit(result.runs, constants, stop, tell);
  FitState state{.folds = values.size() - 1};
  for (const std::string& value : values) {
    Indices rest;
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
      if (result.values[i] != value) rest.push_back(i);
    }
    const Values fitted = fit.fitted(rest, state);
    if (fit.stopped()) return std::nullopt;
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
      if (result.values[i] == value) put(constants, fitted, result.runs[i]);
    }
    ++state.fold;
  }
  result.predictions = predict_runs(result.runs);
  return result;
}

std::string left_out_report(const LeftOut& left_out, const std::string& column) {
  TextTable table({"runs", "error %", "left out", "bias", "held %", "without " + column});
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100.0 * share); };
  const auto add = [&](const std::string& name, const auto& counts) {
    std::vector<MeasuredRun> runs;
    Predictions before, after;
    for (std::size_t i = 0; i < left_out.runs.size(); ++i) {
      if (!counts(i)) continue;
      runs.push_back(left_out.runs[i]);
      before.push_back(left_out.as_they_are[i]);
      after.push_back(left_out.predictions[i]);
    }
    if (runs.empty()) return;
    const GroupErrors errors = errors_by(runs, after, RunGroup::Chip).front();
    table.add(
        {std::to_string(errors.runs),
         percent(errors_by(runs, before, RunGroup::Chip).front().error), percent(errors.error),
         fmt::format("{:+.1f}", 100.0 * errors.bias), percent(errors.held)},
        {name});
  };
  const std::set<std::string> values(left_out.values.begin(), left_out.values.end());
  for (const std::string& value : values) {
    add(value, [&](std::size_t i) { return left_out.values[i] == value; });
  }
  add("all", [](std::size_t) { return true; });
  const auto has_experts = [&](std::size_t i) {
    return left_out.runs[i].task->model.experts.has_value();
  };
  add("all, dense", [&](std::size_t i) { return !has_experts(i); });
  add("all, experts", has_experts);
  return fmt::format("constants of {} fitted without the runs of each {}\n", left_out.name,
                     column) +
         table.text();
}

std::string fit_report(const StackFit& fit) {
  TextTable table({"before", "after", "low", "high", "constant of " + fit.name});
  for (const auto& [row, before, after, range] : fit.constants) {
    const Unit* const unit = row->type->inner->unit;
    const auto text = [unit](double value) {
      return unit ? unit->text(value) : fmt::format("{:.4g}", value);
    };
    const bool at_end = after <= range.low || after >= range.high;
    table.add({text(before), text(after), text(range.low), text(range.high)},
              {std::string(row->key) + (at_end ? ", at the end of its range" : "")});
  }
  const auto errors = [](double before, double after) {
    return fmt::format("{:.1f} % off before, {:.1f} % after\n", 100.0 * before, 100.0 * after);
  };
  std::string text = table.text();
  text +=
      fmt::format("\n{} runs that it was fitted to: {}", fit.runs, errors(fit.before, fit.after));
  if (fit.folds > 0) {
    text += fmt::format("cross-validated, {} folds of {}: {:.1f} % off\n", fit.folds,
                        fit.whole_models ? "whole models" : "runs", 100.0 * fit.cross_validated);
  }
  if (fit.held_out > 0) {
    text +=
        fmt::format("{} runs held out: {}", fit.held_out, errors(fit.held_before, fit.held_after));
  }
  return text;
}

std::string fitted_stack_file(const StackFit& fit, const std::string& table) {
  std::string text = fmt::format("# {}, fitted to {} runs of {}\n# source: ", escaped(fit.name),
                                 fit.runs, escaped(table));
  text +=
      fmt::format("{:.1f} % off these, {:.1f} % before\n", 100.0 * fit.after, 100.0 * fit.before);
  const Json stack = written(fit.stack);
  for (const auto& entry : stack.items()) {
    std::string value = json_line(entry.value());
    std::erase(value, '"');  // words and quantities alone
    text += entry.key() + ": " + value + "\n";
  }
  return text;
}

// Coordinate descent: golden sections along one number after the other, each as a share of its
// range, and then along the change of the whole round, which follows a valley between two numbers
// (Powell, The Computer Journal 7, 1964).  Sections become shorter as rounds gain less.

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
  /// Searches along a direction, up to `reach` times its length both ways.
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
