#include "engine/training/best_rates.hpp"

#include <algorithm>

#include "model/training/evaluate.hpp"
#include "model/training/step.hpp"

namespace dfsearch::training {
namespace {

template <class Work>
double best_share(const EfficiencyCurve<Work>& curve) {
  double share = curve.steps.empty() ? 1.0 : 0.0;
  for (const auto& step : curve.steps) share = std::max(share, step.share);
  return share;
}

}  // namespace

Task at_best_rates(Task task) {
  const auto level = [](auto& curve) { curve.steps = {{.from = {}, .share = best_share(curve)}}; };
  level(task.machine.matrix.efficiency);
  level(task.machine.vector.efficiency);
  for (MemoryTier& tier : task.machine.memory) level(tier.efficiency);
  return task;
}

Seconds least_step(const Task& task) {
  const Engine& engine = task.machine.matrix;
  const double chips = static_cast<double>(task.machine.chips);
  return model_flops(task) / (engine.peak * (best_share(engine.efficiency) * chips)) *
         kLessRoundings;
}

}  // namespace dfsearch::training
