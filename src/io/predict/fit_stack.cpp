// A run is prepared once; each try puts constants into its task and times it again.  Errors are
// absolute logarithms: a wrong constant changes times by a factor, and a few runs that are slow for
// other reasons must not decide.

#include "io/predict/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/text_table.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kFolds = 5;
constexpr int kStackDigits = 4;  // more than measurements have
constexpr std::string_view kRun = "run";

using Values = std::vector<double>;
using Indices = std::vector<std::size_t>;

FittedConstant constant_of(const std::string& key, stack::Stack stack) {
  const Field& row = *stack::constant_of_stack(key);
  void* const member = row.in(&stack);
  if (row.type->size(member) == 0) {
    throw InputError("--fit: " + key + " has no value: expected a low, a typical and a high value");
  }
  const auto value = [&](std::size_t i) {
    return row.type->inner->get_real(row.type->at(member, i));
  };
  const bool has_range = row.type->size(member) == 3;
  const double before = value(has_range ? 1 : 0);
  FitRange range{.low = has_range ? value(0) : before / 2.0,
                 .high = has_range ? value(2) : before * 2.0};
  if (row.limits.given()) range.high = std::min(range.high, row.limits.most);
  if (range.low < range.high) return {row.key, before, before, range, &row};
  throw InputError("--fit: " + key + " has no range: expected a low, a typical and a high value");
}

/// The middle of a range, by its logarithm unless it begins at 0.
double middle_of(const FitRange& range) {
  return range.low > 0.0 ? std::sqrt(range.low * range.high) : (range.low + range.high) / 2.0;
}

/// Sets the typical values.
void put(const std::vector<FittedConstant>& constants, const Values& values, stack::Stack& stack,
         bool keeps_overlap = false) {
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Field& row = *constants[i].row;
    if (keeps_overlap && row.key == "tensor_overlap") continue;
    void* const member = row.in(&stack);
    row.type->inner->put_real(row.type->at(member, row.type->size(member) / 2), values[i]);
  }
}

void put(const std::vector<FittedConstant>& constants, const Values& values, MeasuredRun& run) {
  put(constants, values, run.task->stack->stack, run.says_overlap);
}

/// The stack to fit; it must be the stack of some run.
std::string chosen_stack(const std::vector<MeasuredRun>& runs, const std::string& asked) {
  std::set<std::string> names;
  for (const MeasuredRun& run : runs) {
    if (is_timed(run)) names.insert(run.stack);
  }
  if (names.empty()) throw InputError("--fit: expected runs with a measured time, got none");
  return chosen_name(names, asked, "stack", kRun);
}

/// The value of a run in a column: its mark, or its source without version and place.
std::string column_value(const MeasuredRun& run, const std::string& column) {
  const std::string value = column == "source" ? short_source(run) : run.mark;
  return value.empty() ? "none" : value;
}

std::vector<FittedConstant> constants_of(const stack::Stack& stack, const std::string& name) {
  std::vector<FittedConstant> constants;
  for (const std::string& key : stack.fitted) constants.push_back(constant_of(key, stack));
  if (!constants.empty()) return constants;
  throw InputError(
      fmt::format("--fit: the stack {} has no constants to fit: list them in its key 'fitted'",
                  in_quotes(name)));
}

std::vector<MeasuredRun> runs_of(const std::vector<MeasuredRun>& runs, const std::string& stack) {
  std::vector<MeasuredRun> own;
  for (const MeasuredRun& run : runs) {
    if (is_timed(run) && run.stack == stack) own.push_back(run);
  }
  return own;
}

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
  if (count == runs.size())
    throw InputError("--holdout: all runs are held out, expected some to fit to");
  return held;
}

class StackRuns {
 public:
  StackRuns(std::vector<MeasuredRun> runs, std::vector<FittedConstant> constants,
            const FitControl& control)
      : runs_(std::move(runs)), constants_(std::move(constants)), control_(control) {}

  Values fitted(const Indices& rows, const FitState& state) {
    return fitted_values(constants_, kStackDigits, state, control_, [&](const Values& values) {
      return mean_of(rows.size(),
                     [&](std::size_t k) { return std::fabs(std::log(ratio(rows[k], values))); });
    });
  }

  double error(const Indices& rows, const Values& values) {
    return mean_of(rows.size(),
                   [&](std::size_t k) { return std::fabs(ratio(rows[k], values) - 1.0); });
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
  /// Predicted / measured.  One thread at a time may evaluate a run.
  double ratio(std::size_t i, const Values& values) {
    MeasuredRun& run = runs_[i];
    put(constants_, values, run);
    return training::run_time(*run.task, run.plan).step.in_base_units() / *run.step;
  }

  std::vector<MeasuredRun> runs_;
  const std::vector<FittedConstant> constants_;
  const FitControl& control_;
};

}  // namespace

std::optional<Fit> fit_stack(std::vector<MeasuredRun>& runs, const std::string& asked,
                             const HeldOut& held_out, const FitControl& control) {
  Fit fit{.name = chosen_stack(runs, asked), .one = kRun};
  std::vector<MeasuredRun> own = runs_of(runs, fit.name);
  stack::Stack stack = *own.front().software;
  fit.constants = constants_of(stack, fit.name);
  const std::vector<bool> held = held_of(own, held_out);
  Indices rows, others;
  for (std::size_t i = 0; i < own.size(); ++i) (held[i] ? others : rows).push_back(i);
  StackRuns timed(std::move(own), fit.constants, control);
  bool whole_models = false;
  const std::vector<Indices> folds = timed.folds(rows, whole_models);
  const Values values = timed.fitted(rows, {.folds = folds.size()});
  double validated = 0.0;
  for (std::size_t k = 0; k < folds.size() && !control.is_stopped(); ++k) {
    Indices rest;
    for (std::size_t j = 0; j < folds.size(); ++j) {
      if (j != k) rest.insert(rest.end(), folds[j].begin(), folds[j].end());
    }
    const Values without = timed.fitted(rest, {.fold = k + 1, .folds = folds.size()});
    validated += timed.error(folds[k], without) * static_cast<double>(folds[k].size()) /
                 static_cast<double>(rows.size());
  }
  if (control.is_stopped()) return std::nullopt;
  if (!folds.empty()) {
    fit.checked = fmt::format("cross-validated, {} folds of {}: {:.1f} % off\n", folds.size(),
                              whole_models ? "whole models" : "runs", 100.0 * validated);
  }
  set_result(
      rows, others, values,
      [&](const Indices& of, const Values& at) { return timed.error(of, at); }, fit);
  put(fit.constants, values, stack);
  fit.lines = lines_of(TypeOf<stack::Stack>::type, &stack);
  for (MeasuredRun& run : runs) {
    if (run.task && run.stack == fit.name) put(fit.constants, values, run);
  }
  return fit;
}

std::optional<LeftOut> leave_out(const std::vector<MeasuredRun>& runs, const std::string& asked,
                                 const std::string& column, const FitControl& control) {
  LeftOut result{.name = chosen_stack(runs, asked)};
  result.runs = runs_of(runs, result.name);
  result.as_they_are = predict_runs(result.runs);
  std::vector<FittedConstant> constants = constants_of(*result.runs.front().software, result.name);
  for (FittedConstant& constant : constants) constant.before = middle_of(constant.range);
  for (const MeasuredRun& run : result.runs) result.values.push_back(column_value(run, column));
  const std::set<std::string> values(result.values.begin(), result.values.end());
  if (values.size() < 2) {
    throw InputError(fmt::format(
        "--leave-out: all runs of {} have the same {}, expected at least two different ones",
        in_quotes(result.name), column));
  }
  StackRuns timed(result.runs, constants, control);
  FitState state{.folds = values.size() - 1};
  for (const std::string& value : values) {
    Indices rest;
    for (std::size_t i = 0; i < result.runs.size(); ++i) {
      if (result.values[i] != value) rest.push_back(i);
    }
    const Values fitted = timed.fitted(rest, state);
    if (control.is_stopped()) return std::nullopt;
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

}  // namespace dfsearch
