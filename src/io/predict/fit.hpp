#pragma once
// Fits of constants to measurements: of a stack to runs of training (docs/truth.md, section 9), of
// an engine to serving deployments (docs/serving.md, section 8).

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel_for.hpp"
#include "io/predict/prediction_errors.hpp"
#include "io/predict/serving_table.hpp"

namespace dfsearch {

/// Rows that a fit does not use.
struct HeldOut {
  double share = 0.0;  ///< of the rows, chosen by their ids alone, or
  std::string column;  ///< the rows with `value` in this column (MeasuredRun::mark);
  std::string value;   ///< a value of `source` may lack its version and place
};

struct FitState {
  std::size_t fold = 0, folds = 0;  ///< of cross-validation; 0: the fit itself
  std::size_t tries = 0;
  double error = 0.0;  ///< the least so far
};

/// The flag that stops a fit, or null, and the listener that receives its state.
struct FitControl {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const FitState&)> tell;

  [[nodiscard]] bool is_stopped() const { return stop && *stop; }
};

/// Range of a constant; the fit divides it logarithmically unless it begins at 0.
struct FitRange {
  double low = 0.0, high = 1.0;
};

struct FittedConstant {
  std::string_view key;
  double before = 0.0, after = 0.0;  ///< in base units
  FitRange range;
  const Field* row = nullptr;  ///< of a stack
};

/// Errors are means of |predicted / measured - 1|; for an engine, of the time per token.
struct Fit {
  std::string name;      ///< of the stack or the engine
  std::string_view one;  ///< noun of a row: "run", "deployment"
  std::vector<FittedConstant> constants;
  std::size_t rows = 0, held_out = 0;
  double before = 0.0, after = 0.0;
  double held_before = 0.0, held_after = 0.0;
  std::string checked;  ///< a line on cross-validation; empty with few rows
  std::string lines;    ///< the stack or the engine as a file
};

/// Fits the constants that a stack lists under `fitted` to the timed runs with this stack: the
/// least mean of |log(predicted / measured)|, each constant between its low and its high value or,
/// without these, from half to twice its value.  `name` may be empty if all runs have one stack.
/// Puts the result into the tasks of all runs with the stack.  Uses the threads of the calling
/// arena; the result does not depend on their number.  Returns nothing and changes nothing if the
/// fit was stopped.  Throws InputError if there is no constant or no run.
std::optional<Fit> fit_stack(std::vector<MeasuredRun>& runs, const std::string& name,
                             const HeldOut& held_out, const FitControl& control);

/// Fits an engine in the same way, to its deployments that are not doubtful; the time to the first
/// token counts with a small weight.
std::optional<Fit> fit_engine(std::vector<MeasuredService>& services, const std::string& name,
                              const HeldOut& held_out, const FitControl& control);

/// The constants and errors, for people.
std::string fit_report(const Fit& fit);
/// The stack or the engine as a file of the shelf; `table` is the name of the table.
std::string fitted_file(const Fit& fit, const std::string& table);

/// The timed runs of a stack, each predicted with constants that were fitted without all runs that
/// have its value in a column.
struct LeftOut {
  std::string name;  ///< of the stack
  std::vector<MeasuredRun> runs;
  Predictions as_they_are, predictions;  ///< by the stack's constants, and by fitted ones
  std::vector<std::string> values;       ///< of the column, in their order
};

/// Leaves out one value after the other of `column` (MeasuredRun::mark).  Each fit starts in the
/// middle of all ranges, since the constants of the stack were fitted to all runs.  All else is as
/// in `fit_stack`; constants of chips do not change.
std::optional<LeftOut> leave_out(const std::vector<MeasuredRun>& runs, const std::string& name,
                                 const std::string& column, const FitControl& control);
/// The errors of each value, and of all together.
std::string left_out_report(const LeftOut& left_out, const std::string& column);

// Parts of fits.

/// The lines of a stack or an engine in a file of the shelf.
std::string lines_of(const Type& type, const void* object);

/// The stack or engine to fit (`what` is the noun), one of `names`, all of which have rows (`one`
/// is the noun of a row).
std::string chosen_name(const std::set<std::string>& names, const std::string& asked,
                        std::string_view what, std::string_view one);

/// The number rounded to this many digits, as files have them.
double rounded(double value, int digits);

/// Values of the constants, to some digits, at a local minimum of `objective` along each constant
/// and along the last change of all; the best so far if the fit is stopped.  The result depends
/// only on the arguments.
std::vector<double> fitted_values(
    const std::vector<FittedConstant>& constants, int digits, FitState state,
    const FitControl& control, const std::function<double(const std::vector<double>&)>& objective);

/// The mean of term(i) over all i below `count`, on the threads of TBB; 0 if `count` is 0.
template <class Term>
double mean_of(std::size_t count, const Term& term) {
  std::vector<double> terms(count);
  parallel_for(count, [&](std::size_t i) { terms[i] = term(i); });
  double sum = 0.0;
  for (const double each : terms) sum += each;
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

/// Sets the values of the constants, and the errors error(rows, values) before and after.
template <class Rows, class Error>
void set_result(const Rows& rows, const Rows& held_out, const std::vector<double>& values,
                const Error& error, Fit& fit) {
  std::vector<double> before;
  for (std::size_t i = 0; i < values.size(); ++i) {
    before.push_back(fit.constants[i].before);
    fit.constants[i].after = values[i];
  }
  fit.rows = rows.size();
  fit.held_out = held_out.size();
  fit.before = error(rows, before);
  fit.after = error(rows, values);
  fit.held_before = error(held_out, before);
  fit.held_after = error(held_out, values);
}

}  // namespace dfsearch
