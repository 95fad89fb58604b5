#include "engine/serving/find_deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/serving/deployment_space.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {
namespace {

/// The relative rounding of a sum of capacities.
constexpr double kServedRounding = 1e-12;

/// Sums over all parts.
struct Totals {
  std::vector<double> served;  ///< by model
  std::vector<double> chips;   ///< by pool
  double price = 0.0, power = 0.0, all_chips = 0.0;
};

void check_part(const Task& task, const std::string& name, FleetMember& part, RuledOut& reasons) {
  for (const std::string& reason : ruled_out(task, part.deployment)) {
    reasons.push_back(fmt::format("{}: {}", name, reason));
  }
  if (!has_room(task, part.deployment)) return;
  part.figures = evaluate(task, part.deployment);
  for (const Broken limit : part.figures.broken) {
    reasons.push_back(fmt::format("{}: a deployment breaks {}", name, name_of(limit)));
  }
}

void check_totals(const Fleet& fleet, const Totals& totals, RuledOut& reasons) {
  const auto more = [&](const std::string& key, double needed, double given) {
    if (needed <= given) return;
    reasons.push_back(fmt::format("{}: needs {:.6g}, the config has {:.6g}", key, needed, given));
  };
  for (std::size_t m = 0; m < fleet.models.size(); ++m) {
    const double rate = *fleet.models[m].rate;
    if (totals.served[m] >= rate * (1.0 - kServedRounding)) continue;
    reasons.push_back(fmt::format("{}: rate: serves {:.6g} requests a second of {:.6g}",
                                  fleet.names[m], totals.served[m], rate));
  }
  const std::vector<Pool>& pools = fleet.models.front().pools;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    more("chips of pool " + pools[p].name, totals.chips[p], real(pools[p].chips));
  }
  const Budget& budget = fleet.budget;
  if (budget.price) more("budget.price", totals.price, *budget.price);
  if (budget.power) more("budget.power", totals.power, budget.power->in_base_units());
  if (budget.chips) more("budget.chips", totals.all_chips, real(*budget.chips));
}

/// Whether the mix keeps all limits at the low end of the memory.
bool fits_at_low(Fleet fleet, const std::vector<FleetMember>& parts) {
  if (std::none_of(fleet.models.begin(), fleet.models.end(), has_low_end)) return false;
  for (Task& task : fleet.models) task.level = memory::Level::Low;
  RuledOut reasons;
  judged_fleet(fleet, parts, reasons);
  return reasons.empty();
}

}  // namespace

ServingResult judged_fleet(const Fleet& fleet, std::vector<FleetMember> parts, RuledOut& reasons) {
  const std::vector<Pool>& pools = fleet.models.front().pools;
  Totals totals{.served = std::vector<double>(fleet.models.size()),
                .chips = std::vector<double>(pools.size())};
  const auto take = [&](const Role& role, std::int64_t times) {
    const Structure& s = role.structure;
    // The product is real, since it may leave 64 bits.
    const double chips = real(times) * real(role.replicas) * real(s.tensor) * real(s.pipeline) *
                         real(s.attention_data);
    totals.chips[s.pool] += chips;
    totals.price += chips * pools[s.pool].price;
    totals.power += chips * pools[s.pool].power.in_base_units();
    totals.all_chips += chips;
  };
  for (FleetMember& part : parts) {
    check_part(without_rate(fleet.models[part.model]), fleet.names[part.model], part, reasons);
    totals.served[part.model] += real(part.count) * part.figures.capacity;
    take(part.deployment.decode, part.count);
    if (part.deployment.mode == Mode::Disaggregated) take(part.deployment.prefill, part.count);
  }
  check_totals(fleet, totals, reasons);
  ServingResult result;
  result.is_given = true;
  if (!reasons.empty()) {
    result.status = SearchStatus::Infeasible;
    if (!fits_at_low(fleet, parts)) return result;
    result.status = SearchStatus::NoSolution;
    reasons.clear();
    return result;
  }
  result.status = SearchStatus::Feasible;
  const Objective objective = fleet.models.front().objective;
  result.cost = Score(objective == Objective::Cost     ? totals.price
                      : objective == Objective::Energy ? totals.power
                                                       : totals.all_chips);
  result.fleet = std::move(parts);
  return result;
}

}  // namespace dfsearch::serving
