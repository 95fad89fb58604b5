#include "io/study/point_facts.hpp"

#include <algorithm>
#include <variant>

namespace dfsearch {
namespace {

using study::Figure;

/// Adds the rates of tokens; `price` is true if the price of the machine is known.
void add_rates(std::vector<Figure>& figures, bool price) {
  figures.push_back(Figure::TokensPerSecond);
  figures.push_back(Figure::TokensPerSecondPerChip);
  if (price) figures.push_back(Figure::TokensPerSecondPerDollar);
}

/// Whether any part of a machine has a rate: without a section `price` or `power` none has.
template <class Rates>
bool is_given(const Rates& rates) {
  const auto is_positive = [](const auto& rate) { return rate.in_base_units() > 0.0; };
  return is_positive(rates.accelerator) || is_positive(rates.memory) ||
         is_positive(rates.switch_port) ||
         std::any_of(rates.link.begin(), rates.link.end(), is_positive);
}

std::vector<Figure> figures_of_step(bool price, bool power) {
  std::vector<Figure> figures = {Figure::StepTime};
  if (price) figures.push_back(Figure::Price);
  if (power) figures.push_back(Figure::Power);
  figures.push_back(Figure::Utilization);
  if (price) figures.push_back(Figure::CostEfficiency);
  if (power) figures.push_back(Figure::PowerEfficiency);
  return figures;
}

void add_energies(std::vector<Figure>& figures, const EnergyRates& energy, bool tokens) {
  if (!energy.stated()) return;
  figures.push_back(Figure::Energy);
  figures.push_back(Figure::Edp);
  if (tokens) figures.push_back(Figure::JoulePerToken);
}

std::vector<Figure> figures_of(const Config& config) {
  const Problem& problem = config.problem;
  // The power of a chip that is searched comes with it.
  std::vector<Figure> figures = figures_of_step(is_given(problem.system.price),
                                                is_given(problem.system.power) || config.design);
  if (const auto& serving = problem.workload.serving) {
    add_rates(figures, is_given(problem.system.price));
    figures.push_back(serving->decode ? Figure::TimePerOutputToken : Figure::TimeToFirstToken);
  }
  const bool trains = problem.workload.kind == WorkloadKind::LlmTraining;
  add_energies(figures, problem.system.energy, problem.workload.serving || trains);
  return figures;
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
  if (const auto* config = std::get_if<Config>(&any)) return figures_of(*config);
  if (const auto* served = std::get_if<ServingConfig>(&any)) {
    // A front or a fleet has its figures in its rows alone.
    if (served->task.objective == serving::Objective::Front || !served->fleet.models.empty()) {
      return {};
    }
    return {Figure::TokensPerSecond,        Figure::TimeToFirstToken, Figure::TimePerOutputToken,
            Figure::TokensPerSecondPerChip, Figure::DollarsPerMtoken, Figure::JoulePerToken};
  }
  if (std::holds_alternative<CalculonConfig>(any)) return {Figure::StepTime, Figure::Utilization};
  const training::Task& task = std::get<TrainingConfig>(any).task;
  std::vector<Figure> figures =
      figures_of_step(is_given(task.machine.price), is_given(task.machine.power));
  add_rates(figures, is_given(task.machine.price));
  add_energies(figures, task.machine.energy, true);
  return figures;
}

}  // namespace dfsearch
