#pragma once
// Constants of an engine that serves from measured deployments (docs/serving.md, section 8).

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/predict/fit_stack.hpp"
#include "io/predict/serving_table.hpp"

namespace dfsearch {

/// A constant of an engine: seconds, or a share.
struct EngineConstant {
  std::string_view key;
  double before = 0.0, after = 0.0;
  FitRange range;
};

/// Errors are means of |predicted / measured - 1| of the time per token.
struct EngineFit {
  std::string name;  ///< of the engine
  std::vector<EngineConstant> constants;
  serving::Engine engine;
  std::size_t rows = 0, held_out = 0;
  double before = 0.0, after = 0.0;
  double other_half = 0.0;  ///< of each half of the rows, fitted to the other; 0 with few rows
  double held_before = 0.0, held_after = 0.0;
};

/// Fits the constants to the rows of the engine `name` without doubt, empty: of the only one: the
/// least mean of |log(predicted / measured)| of the time per token, and with a small weight of the
/// first one.  Rows that `held_out` chooses by its share are not seen.  Puts the result into the
/// tasks of all rows with the engine.  Uses the threads of the arena that calls; the same for any
/// number.  Nothing, and no change, if `stop` was raised.  Throws InputError if there is nothing to
/// fit to.
std::optional<EngineFit> fit_engine(std::vector<MeasuredService>& services, const std::string& name,
                                    const HeldOut& held_out, const std::atomic<bool>* stop,
                                    const std::function<void(const FitState&)>& tell);

/// The constants and errors, for people.
std::string fit_report(const EngineFit& fit);
/// The engine as a file of the shelf; `table` is the name of the table.
std::string fitted_engine_file(const EngineFit& fit, const std::string& table);

}  // namespace dfsearch
