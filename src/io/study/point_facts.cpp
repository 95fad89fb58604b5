// The meaning of a quantity does not depend on the other axes, so two configs that differ only in
// quantities compare as these quantities do.  A choice that does not set a quantity has the value
// of the base, which must then be the same for all points.

#include "io/study/point_facts.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "io/checkpoint/checkpoint_file.hpp"

namespace dfsearch {
namespace {

using Path = std::vector<std::string>;

/// Keys of the quantities that `is_no_less` compares; a star is an index.
const std::array<Path, 14> kQuantityKeys = {{{"system", "accelerator", "cores"},
                                             {"system", "accelerator", "frequency"},
                                             {"system", "accelerator", "sram"},
                                             {"system", "memory", "bandwidth"},
                                             {"system", "memory", "capacity"},
                                             {"system", "network", "*", "bandwidth"},
                                             {"price", "accelerator"},
                                             {"price", "memory"},
                                             {"price", "link"},
                                             {"price", "switch"},
                                             {"power", "accelerator"},
                                             {"power", "memory"},
                                             {"power", "link"},
                                             {"power", "switch"}}};

bool is_quantity(const Path& path) {
  return std::any_of(kQuantityKeys.begin(), kQuantityKeys.end(), [&](const Path& key) {
    return std::equal(
        path.begin(), path.end(), key.begin(), key.end(),
        [](const std::string& x, const std::string& y) { return x == y || y == "*"; });
  });
}

/// Whether points differ in the sources of their configs.
bool has_other_sources(const Study& study) {
  if (study.has_base_axis()) return true;
  return std::any_of(study.axes.begin(), study.axes.end(), [](const StudyAxis& axis) {
    return std::any_of(axis.changes.begin(), axis.changes.end(), [](const auto& changes) {
      return std::any_of(changes.begin(), changes.end(),
                         [](const Override& change) { return change.path.back() == "from"; });
    });
  });
}

/// Calls `call` with each quantity, price and power whose growth makes no step slower.
template <class System, class Call>
void for_each_quantity(System& system, const Call& call) {
  call(system.accelerator.cores);
  call(system.accelerator.frequency);
  call(system.accelerator.sram);
  call(system.memory[0].bandwidth);
  call(system.memory[0].capacity);
  for (auto& dimension : system.network) call(dimension.bandwidth);
  const auto call_rates = [&](auto& rates) {
    call(rates.accelerator);
    call(rates.memory);
    call(rates.switch_port);
    for (auto& link : rates.link) call(link);
  };
  call_rates(system.price);
  call_rates(system.power);
}

Problem without_quantities(Problem problem) {
  for_each_quantity(problem.system, [](auto& quantity) {
    quantity = std::remove_reference_t<decltype(quantity)>(1);
  });
  return problem;
}

std::vector<double> quantities_of(const Machine& system) {
  std::vector<double> all;
  for_each_quantity(system, [&](const auto& quantity) {
    if constexpr (requires { quantity.in_base_units(); }) {
      all.push_back(quantity.in_base_units());
    } else {
      all.push_back(static_cast<double>(quantity));
    }
  });
  return all;
}

}  // namespace

bool grows(const Config& config) {
  const Problem& problem = config.problem;
  // A core's share of a level shrinks when there are more cores.
  const bool has_levels = problem.execution.levels && !problem.system.levels.empty();
  const Machine& system = problem.system;
  const bool has_rates = !system.price.by_peak && !system.power.by_peak;
  return !config.design && has_rates && problem.objective == Objective::StepTime &&
         !problem.system.second_memory() && !has_levels;
}

bool is_no_less(const Config& a, const Config& b) {
  if (!grows(a) || !grows(b)) return false;
  const std::vector<double> of_a = quantities_of(a.problem.system);
  const std::vector<double> of_b = quantities_of(b.problem.system);
  if (of_a.size() != of_b.size()) return false;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_b[i] < of_a[i]) return false;
  }
  return fingerprint_of(without_quantities(a.problem)) ==
         fingerprint_of(without_quantities(b.problem));
}

bool sets_quantities(const Study& study, std::size_t dimension) {
  if (study.has_base_axis() && study.axes.front().dimension == dimension) return false;
  std::vector<std::set<Path>> of_choices;
  for (const StudyAxis& axis : study.axes) {
    if (axis.dimension != dimension) continue;
    of_choices.resize(axis.changes.size());
    for (std::size_t i = 0; i < axis.changes.size(); ++i) {
      for (const Override& change : axis.changes[i]) {
        if (!is_quantity(change.path)) return false;
        of_choices[i].insert(change.path);
      }
    }
  }
  const bool all_set_the_same =
      std::all_of(of_choices.begin(), of_choices.end(),
                  [&](const std::set<Path>& paths) { return paths == of_choices.front(); });
  return all_set_the_same || !has_other_sources(study);
}

namespace {

using study::Figure;

/// Whether any part of a machine has a rate; none has without a section `price` or `power`.
template <class Rates>
bool is_given(const Rates& rates) {
  const auto is_positive = [](const auto& rate) { return rate.in_base_units() > 0.0; };
  return is_positive(rates.accelerator) || is_positive(rates.memory) ||
         is_positive(rates.switch_port) ||
         std::any_of(rates.link.begin(), rates.link.end(), is_positive);
}

/// The parts of an answer that the rates of a machine determine.
unsigned parts_of(const Machine& machine) {
  return (is_given(machine.price) ? study::kPrice : 0U) |
         (is_given(machine.power) ? study::kPower : 0U) |
         (machine.energy.stated() ? study::kEnergy : 0U);
}

unsigned parts_of(const Config& config) {
  const Workload& workload = config.problem.workload;
  unsigned parts = study::kStep | parts_of(config.problem.system);
  // A searched chip comes with its power.
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
    // The figures of a front or a fleet are in its rows only.
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
