// Measured deployments to compare with the front that was found for the same task.

#include <algorithm>

#include "io/predict/serving_table.hpp"
#include "model/serving/requests.hpp"

namespace dfsearch {

std::vector<MeasuredPoint> measured_points(const CsvTable& table, const serving::Task& task) {
  InputMessages messages;
  const serving::Means asked(task.requests);
  std::vector<MeasuredPoint> points;
  for (const MeasuredService& service : read_services(table, messages, &task)) {
    if (!service.task || !service.tpot || !service.doubtful.empty()) continue;
    const serving::Pool* pool = pool_like(service.task->pools[0], task);
    const serving::Means means(service.task->requests);
    const auto weights = service.task->precisions[0].weights;
    const bool same = pool && service.task->model == task.model && means.input == asked.input &&
                      means.output == asked.output && means.fresh == asked.fresh &&
                      std::any_of(task.precisions.begin(), task.precisions.end(),
                                  [&](const auto& one) { return one.weights == weights; });
    if (!same) continue;
    const auto& [mode, prefill, decode] = service.deployment;
    const double running = serving::real(decode.batch) *
                           serving::real(decode.replicas * decode.structure.attention_data *
                                         decode.structure.pipeline);
    const std::int64_t more = mode == serving::Mode::Disaggregated ? prefill.chips() : 0;
    const double chips = serving::real(decode.chips() + more);
    const double tokens = running / *service.tpot * means.output / means.steps;
    points.push_back({.name = service.backend + " " + service.id,
                      .tokens_per_s_per_user = 1.0 / *service.tpot,
                      .tokens_per_s_per_chip = tokens / chips,
                      .dollars_per_mtoken = chips * pool->price / 3600.0 / tokens * 1e6});
  }
  return points;
}

}  // namespace dfsearch
