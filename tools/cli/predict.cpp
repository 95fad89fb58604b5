#include "cli/commands.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <filesystem>
#include <mutex>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "io/html/pages.hpp"
#include "io/predict/fit.hpp"
#include "io/predict/prediction_errors.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

/// Calls `fit` with a control that shows its state; returns nothing if a signal stopped it.
template <class Find>
auto fitted(const CommandLine& line, const Find& fit) {
  std::mutex mutex;  // guards the state
  FitState state;
  ProgressLine progress(line.quiet, [&](double seconds) {
    const std::lock_guard lock(mutex);
    const std::string clock = fmt::format("{:>9}  ", to_text(Seconds(seconds)));
    const std::string tries =
        fmt::format(", {} tries, {:.2f} % off", state.tries, 100.0 * state.error);
    if (state.fold == 0) return clock + "fit" + tries;
    // Each remaining fold is assumed to take the mean time of the fit and the earlier folds.
    const auto done = static_cast<double>(state.fold);
    const auto left = static_cast<double>(state.folds + 1 - state.fold);
    return clock + fmt::format("fold {} of {}{}, about {} left", state.fold, state.folds, tries,
                               to_text(Seconds(seconds / done * left)));
  });
  auto found = fit(FitControl{.stop = stop_on_signals(), .tell = [&](const FitState& now) {
                                const std::lock_guard lock(mutex);
                                state = now;
                              }});
  progress.finish();
  if (!found) print_error("dfsearch: the fit was stopped by a signal, nothing is written\n");
  return found;
}

/// Predicts a table of serving deployments.
int predict_services(const CommandLine& line, const CsvTable& table, InputMessages& messages) {
  if (!line.html.empty() || !line.stacks.empty() || !line.run_groups.empty() ||
      !line.left_out.empty()) {
    throw InputError("--html, --stacks, --by and --leave-out: only with a table of training runs");
  }
  std::vector<MeasuredService> services = read_services(table, messages);
  for (const std::string& file : {line.output, line.fit}) check_output(file);
  if (!line.quiet) print_error(unread_service_columns(table));
  Outputs outputs;
  if (!line.fit.empty()) {
    const auto fit = fitted(line, [&](const FitControl& control) {
      return fit_engine(services, line.fit_stack, line.held_out, control);
    });
    if (!fit) return kStoppedWithout;
    outputs.file(line.fit, fitted_file(*fit, line.config));
    print(fit_report(*fit) + "\n");
  }
  const auto predictions = predict_services(services);
  if (line.output != "-") outputs.file(line.output, service_csv(services, predictions));
  print(service_report(services, predictions, static_cast<std::size_t>(line.worst)));
  outputs.throw_if_any_failed();
  return kProved;
}

int predict(const CommandLine& line) {
  InputMessages messages;
  const CsvTable table(read_file(line.config, std::size_t{64} << 20), line.config, messages);
  if (is_service_table(table)) return predict_services(line, table, messages);
  if (!line.stacks.empty() && !std::filesystem::is_directory(line.stacks)) {
    throw InputError("--stacks: there is no folder " + in_quotes(line.stacks));
  }
  const RunTableOptions options{
      .folder = line.stacks, .mark = line.left_out.empty() ? line.held_out.column : line.left_out};
  std::vector<MeasuredRun> runs = read_runs(table, messages, options);
  if (!line.quiet) print_error(unread_run_columns(table, options));
  for (const std::string& file : {line.output, line.html, line.fit}) check_output(file);
  std::vector<RunGroup> groups = line.run_groups;
  if (groups.empty()) groups = {RunGroup::Source};
  Outputs outputs;
  if (!line.fit.empty()) {
    const auto fit = fitted(line, [&](const FitControl& control) {
      return fit_stack(runs, line.fit_stack, line.held_out, control);
    });
    if (!fit) return kStoppedWithout;
    outputs.file(line.fit, fitted_file(*fit, line.config));
    print(fit_report(*fit) + "\n");
  }
  if (!line.left_out.empty()) {
    const auto left_out = fitted(line, [&](const FitControl& control) {
      return leave_out(runs, line.fit_stack, line.left_out, control);
    });
    if (!left_out) return kStoppedWithout;
    print(left_out_report(*left_out, line.left_out) + "\n");
  }
  const Predictions predictions = predict_runs(runs);
  if (line.output != "-") outputs.file(line.output, prediction_csv(runs, predictions));
  if (!line.html.empty()) {
    outputs.file(line.html,
                 prediction_page(runs, predictions, groups.front(), title_of(line), line.words));
  }
  print(prediction_report(runs, predictions, groups, static_cast<std::size_t>(line.worst)));
  outputs.throw_if_any_failed();
  return kProved;
}

}  // namespace

int run_support(const CommandLine& line) {
  if (line.more_configs.size() != 1) throw InputError("support: expected a MODEL and a SYSTEM");
  print(support_text(line.config, line.more_configs.front()));
  return kProved;
}

int run_predict(const CommandLine& line) {
  return oneapi::tbb::task_arena(line.search.threads).execute([&] { return predict(line); });
}

}  // namespace dfsearch
