#pragma once
// Constants of a stack from measured runs (docs/truth.md, section 9).

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/predict/prediction_errors.hpp"

namespace dfsearch {

/// Runs that no fit sees.
struct HeldOut {
  double share = 0.0;  ///< of the runs, by their ids: whatever else is in the table
  std::string column;  ///< or those whose cell of this column, which was read as their mark,
  std::string value;   ///< is this, of `source` also without version and place
};

struct FitState {
  std::size_t fold = 0, folds = 0;  ///< 0: the fit itself
  std::size_t tries = 0;
  double error = 0.0;  ///< the least so far
};

/// Where a number may be; its logarithm counts if the range does not begin at 0.
struct FitRange {
  double low = 0.0, high = 1.0;
};

struct FittedConstant {
  const Field* row = nullptr;
  double before = 0.0, after = 0.0;  ///< in base units
  FitRange range;
};

/// Errors are means of |predicted / measured - 1|.
struct StackFit {
  std::string name;  ///< of the stack
  stack::Stack stack;
  std::vector<FittedConstant> constants;
  std::size_t runs = 0, held_out = 0;
  double before = 0.0, after = 0.0;
  std::size_t folds = 0;      ///< of cross-validation, none with few runs
  bool whole_models = false;  ///< no model is in two folds
  double cross_validated = 0.0;
  double held_before = 0.0, held_after = 0.0;
};

/// Fits the constants of a stack that are marked so to the runs that were timed with it: the least
/// mean of |log(predicted / measured)|, in the range from the low to the high value of each, or
/// from half to twice a value that has none.  `name` may be empty if all runs have one stack.
/// Puts the result into the tasks of all runs with the stack.  Uses the threads of the arena that
/// calls, and the result is the same for any number.  Nothing, and no change, if `stop` was raised.
/// Throws InputError if there is nothing to fit, or to fit to.
std::optional<StackFit> fit_stack(std::vector<MeasuredRun>& runs, const std::string& name,
                                  const HeldOut& held_out, const std::atomic<bool>* stop,
                                  const std::function<void(const FitState&)>& tell);

/// The timed runs of a stack, each predicted with constants that were fitted without all runs that
/// have its value in a column.
struct LeftOut {
  std::string name;  ///< of the stack
  std::vector<MeasuredRun> runs;
  Predictions as_they_are, predictions;  ///< with the constants of the stack, and the fitted ones
  std::vector<std::string> values;       ///< of the column, in their order
};

/// Leaves out one value after the other of `column`, which was read as the mark of the runs.  Each
/// fit starts in the middle of all ranges, as the values of the stack know the runs.  All else is
/// as in `fit_stack`; constants of chips stay.
std::optional<LeftOut> leave_out(const std::vector<MeasuredRun>& runs, const std::string& name,
                                 const std::string& column, const std::atomic<bool>* stop,
                                 const std::function<void(const FitState&)>& tell);
/// The errors of each value, and of all together.
std::string left_out_report(const LeftOut& left_out, const std::string& column);

/// The constants and errors, for people.
std::string fit_report(const StackFit& fit);
/// The stack as a file of the shelf; `table` is the name of the table of runs.
std::string fitted_stack_file(const StackFit& fit, const std::string& table);

/// Starts at `start` and ends where neither a number alone nor all together along the last change
/// make `objective` less, as far as was looked; never above the start.  Stops early, with the best
/// so far, once `goes_on` says no.  The same for the same objective.
std::vector<double> least_by_coordinates(
    const std::vector<FitRange>& ranges, const std::vector<double>& start,
    const std::function<double(const std::vector<double>&)>& objective,
    const std::function<bool()>& goes_on);

}  // namespace dfsearch
