#include "cli/predict.hpp"

#include <oneapi/tbb/task_arena.h>

#include "cli/exit_status.hpp"
#include "cli/outputs.hpp"
#include "cli/standard_output.hpp"
#include "io/html/prediction_page.hpp"
#include "io/predict/prediction_table.hpp"

namespace dfsearch {

int run_predict(const CommandLine& line) {
  const std::vector<MeasuredRun> runs = load_runs(line.config);
  check_output(line.output);
  check_output(line.html);
  const Predictions predictions =
      oneapi::tbb::task_arena(line.threads).execute([&] { return predict_runs(runs); });
  Outputs outputs;
  if (line.output != "-") outputs.file(line.output, prediction_csv(runs, predictions));
  if (!line.html.empty()) {
    outputs.file(line.html, prediction_page(runs, predictions, line.run_groups.front(),
                                            title_of(line), line.words));
  }
  print(
      prediction_report(runs, predictions, line.run_groups, static_cast<std::size_t>(line.worst)));
  outputs.throw_if_any_failed();
  return kProved;
}

}  // namespace dfsearch
