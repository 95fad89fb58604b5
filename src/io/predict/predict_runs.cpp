#include "io/predict/predict_runs.hpp"

#include <oneapi/tbb/parallel_for.h>

namespace dfsearch {
namespace {

Prediction predicted(const MeasuredRun& run) {
  training::Task task = *run.task;
  Prediction prediction{.typical = training::run_time(task, run.plan)};
  // The layers stay where they are.
  task.choices.layers = prediction.typical.layers;
  task.stack->scenario = stack::Scenario::low();
  prediction.low = training::run_time(task, run.plan).step;
  task.stack->scenario = stack::Scenario::high();
  prediction.high = training::run_time(task, run.plan).step;
  return prediction;
}

}  // namespace

std::vector<std::optional<Prediction>> predict_runs(const std::vector<MeasuredRun>& runs) {
  std::vector<std::optional<Prediction>> predictions(runs.size());
  tbb::parallel_for(std::size_t{0}, runs.size(), [&](std::size_t i) {
    if (runs[i].task) predictions[i] = predicted(runs[i]);
  });
  return predictions;
}

}  // namespace dfsearch
