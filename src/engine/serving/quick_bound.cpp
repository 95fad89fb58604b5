#include "engine/serving/quick_bound.hpp"

#include <algorithm>

#include "engine/serving/incumbents.hpp"
#include "model/serving/pass_energy.hpp"

namespace dfsearch::serving {

double QuickBound::weight(const Pool& pool, double chips) const {
  return counts_dollars() ? chips * pool.price / 3600.0 * 1e6 : chips;
}

/// Cost of a request: chip-seconds, their dollars, or the least joules at any clock.
// docs/energy.md (11)
double QuickBound::spent(const Pool& pool, double chip_seconds, const EnergyWork& work) const {
  if (!asks_energy(objective_)) return weight(pool, chip_seconds);
  if (!counts_energy(pool)) return chip_seconds * pool.power.in_base_units();
  return energy_bound(pool.machine.energy, Seconds(chip_seconds), work.sum()).in_base_units();
}

SideBound QuickBound::decoding(const DeploymentBox& box) const {
  const Structure& structure = box.decode();
  const Pool& pool = task_.pools[structure.pool];
  const Decoding best = box.decoding();
  const double share = box.prefill() ? task_.utilization.decode : 1.0;
  return {.spent = spent(pool, real(structure.chips()) / (share * best.capacity), best.least_work),
          .weight = weight(pool, real(structure.chips())),
          .first = box.prefill() ? 0.0 : box.least_ttft(),
          .tpot = box.least_tpot(),
          .fullness = box.at_low().memory / pool.usable().in_base_units(),
          .chips = structure.chips()};
}

SideBound QuickBound::prefilling(const Structure& structure, const Prefilling& first,
                                 const Prefilling& best) const {
  const Pool& pool = task_.pools[structure.pool];
  const double capacity = task_.utilization.prefill * best.capacity;
  return {.spent = spent(pool, real(structure.chips()) / capacity, best.work),
          .weight = weight(pool, real(structure.chips())),
          .first = first.latency + pool.engine.answer.in_base_units(),
          .tpot = 0.0,
          .fullness = first.memory / pool.usable().in_base_units(),
          .chips = structure.chips()};
}

double QuickBound::value(const SideBound& decode, const SideBound& prefill, double there) const {
  const double first = decode.first + prefill.first;
  const double e2e = first + means_.steps * decode.tpot;
  const double all = decode.spent + prefill.spent, output = means_.output;
  const double chips = real(decode.chips + prefill.chips);
  // Little's law: the rate is at most the number of users over the whole time of a request.
  const double waiting = task_.concurrency ? e2e / *task_.concurrency : 0.0;
  switch (objective_) {
    case Objective::Interactivity:
      return decode.tpot;
    case Objective::Ttft:
      return first;
    case Objective::E2e:
      return e2e;
    case Objective::Fullness:
      return std::max(decode.fullness, prefill.fullness);
    case Objective::Edp:
      return all * e2e;
    case Objective::Chips:
      return task_.rate ? std::max(all * *task_.rate, chips) : chips;
    case Objective::Throughput:
      if (task_.rate) return 1.0 / (*task_.rate * output);
      return std::max(all / there, waiting) / output;
    case Objective::ThroughputPerChip:
      return std::max(all, chips * waiting) / output;
    case Objective::Front:
      if (!counts_dollars()) return std::max(all, chips * waiting) / output;
      break;
    case Objective::Cost:
    case Objective::Energy:
      break;
  }
  return all / output;
}

double QuickBound::chips_there(const Structure& decode, const Structure* prefill) const {
  const bool is_other = prefill && prefill->pool != decode.pool;
  return real(task_.pools[decode.pool].chips) +
         (is_other ? real(task_.pools[prefill->pool].chips) : 0.0);
}

std::pair<SideBound, SideBound> QuickBound::sides(const DeploymentBox& box) const {
  if (!box.prefill()) return {decoding(box), {}};
  return {decoding(box), prefilling(*box.prefill(), box.at_first(), box.prefilling())};
}

CountWindow QuickBound::window(const SideBound& decode, const SideBound& prefill,
                               double most) const {
  constexpr double kMore = 1.0 + kTie + 4.0 * kRounding;
  const double limit = most * kMore, output = means_.output;
  CountWindow window;
  if (!(limit < kNever)) return window;
  switch (objective_) {
    case Objective::Chips:
      window.cost_x = real(prefill.chips);
      window.cost_y = real(decode.chips);
      window.most = limit;
      break;
    case Objective::Throughput:
      // x replicas serve x * weight / spent requests a second.
      if (task_.rate) break;
      window.least_x = prefill.chips > 0 ? prefill.spent / prefill.weight / (limit * output) : 0.0;
      window.least_y = decode.spent / decode.weight / (limit * output);
      break;
    case Objective::Cost:
    case Objective::ThroughputPerChip:
    case Objective::Front: {
      const auto most_of = [&](const SideBound& side) {
        return side.spent > 0.0 ? limit * output * side.weight / side.spent : kNever;
      };
      window.cost_x = prefill.weight;
      window.cost_y = decode.weight;
      window.most_x = most_of(prefill);
      window.most_y = most_of(decode);
      if (task_.rate) window.most = limit * output * *task_.rate;
      const double e2e = decode.first + prefill.first + means_.steps * decode.tpot;
      if (task_.concurrency && e2e > 0.0) window.most = limit * output * *task_.concurrency / e2e;
      break;
    }
    default:
      break;
  }
  return window;
}

}  // namespace dfsearch::serving
