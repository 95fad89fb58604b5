#include "io/study/point_facts.hpp"

#include <algorithm>
#include <variant>

namespace dfsearch {
namespace {

using study::Figure;

/// Whether any part of a machine has a rate: without a section `price` or `power` none has.
template <class Rates>
bool is_given(const Rates& rates) {
  const auto is_positive = [](const auto& rate) { return rate.in_base_units() > 0.0; };
  return is_positive(rates.accelerator) || is_positive(rates.memory) ||
         is_positive(rates.switch_port) ||
         std::any_of(rates.link.begin(), rates.link.end(), is_positive);
}

/// The parts of an answer that the rates of a machine give.
unsigned parts_of(const Machine& machine) {
  return (is_given(machine.price) ? study::kPrice : 0U) |
         (is_given(machine.power) ? study::kPower : 0U) |
         (machine.energy.stated() ? study::kEnergy : 0U);
}

unsigned parts_of(const Config& config) {
  const Workload& workload = config.problem.workload;
  unsigned parts = study::kStep | parts_of(config.problem.system);
  // The power of a chip that is searched comes with it.
  if (config.design) parts |= study::kPower;
  if (workload.kind == WorkloadKind::LlmTraining) parts |= study::kTokens;
  if (const auto& serving = workload.serving) {
    parts |=
        study::kTokens | study::kTokenRates | (serving->decode ? study::kDecode : study::kPrefill);
  }
  return parts;
}

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

std::vector<Figure> figures_of(const AnyConfig& any) {
  if (const auto* config = std::get_if<Config>(&any)) return study::figures_with(parts_of(*config));
  if (const auto* served = std::get_if<ServingConfig>(&any)) {
    // A front or a fleet has its figures in its rows alone.
    const bool is_one =
        served->task.objective != serving::Objective::Front && served->fleet.models.empty();
    return is_one ? study::figures_with(study::kDeployment) : std::vector<Figure>();
  }
  unsigned parts = study::kStep;
  if (const auto* plan = std::get_if<TrainingConfig>(&any)) {
    parts |= parts_of(plan->task.machine) | study::kTokens | study::kTokenRates;
  }
  return study::figures_with(parts);
}

}  // namespace dfsearch
