#include "cli/predict.hpp"

#include "cli/exit_status.hpp"
#include "cli/outputs.hpp"
#include "cli/standard_output.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

int run_predict(const CommandLine& line) {
  const std::vector<MeasuredRun> runs = load_runs(line.config);
  check_output(line.output);
  const auto predictions = predict_runs(runs);
  if (line.output != "-") write_file(line.output, prediction_csv(runs, predictions));
  print(prediction_report(runs, predictions, line.run_group));
  return kProved;
}

}  // namespace dfsearch
