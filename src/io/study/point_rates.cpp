#include "io/study/point_rates.hpp"

#include <algorithm>
#include <variant>

namespace dfsearch {
namespace {

using study::Rates;

Rates efficiency_or_ideal(bool has_efficiency) {
  return has_efficiency ? Rates::Efficiency : Rates::Ideal;
}

struct RatesOf {
  Rates operator()(const Config& config) const {
    return efficiency_or_ideal(config.problem.execution.compute_utilization.has_value());
  }
  Rates operator()(const CalculonConfig& config) const {
    return efficiency_or_ideal(!config.task.machine.matrix.efficiency.steps.empty());
  }
  Rates operator()(const TrainingConfig& config) const {
    if (config.task.stack) return Rates::Measured;
    return efficiency_or_ideal(!config.task.machine.matrix.efficiency.steps.empty());
  }
  Rates operator()(const ServingConfig& config) const {
    const auto& pools = config.task.pools;
    const bool is_ideal = std::any_of(pools.begin(), pools.end(),
                                      [](const auto& pool) { return pool.engine.is_ideal(); });
    return is_ideal ? Rates::Ideal : Rates::Measured;
  }
};

}  // namespace

study::Rates rates_of(const AnyConfig& any) { return std::visit(RatesOf{}, any); }

}  // namespace dfsearch
