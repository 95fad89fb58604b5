// Consider a chip on which a FLOP takes as many seconds as it takes joules, while memory and links
// take no time.  Its time for a pass in seconds is the energy of the arithmetic in joules.  The
// energies of memory and of links follow in the same way.  So the equations for times also give
// energies.  Nothing overlaps, since only one resource takes time.

#include "model/serving/pass_energy.hpp"

namespace dfsearch::serving {
namespace {

constexpr std::array<Joules EnergyWork::*, 3> kResources = {&EnergyWork::math, &EnergyWork::memory,
                                                            &EnergyWork::links};

Math math_of(Number number) {
  switch (number) {
    case Number::Fp32:
      return Math::Fp32;
    case Number::Fp8:
      return Math::Fp8;
    case Number::Int8:
      return Math::Int8;
    case Number::Bf16:
      return Math::Bf16;
    default:
      return bytes_of(number) < 1.0 ? Math::Fp4 : Math::Bf16;
  }
}

/// The task on chips on which only one resource takes time, without the times of engines.  Experts
/// are chosen evenly, since energy is the work of all chips, not of the fullest one.  Rows that
/// fill up tiles are left out.
Task task_of(Task task, std::size_t pool_index, Joules EnergyWork::*resource) {
  Pool& pool = task.pools[pool_index];
  const EnergyRates& rates = pool.machine.energy;
  const Engine timed = pool.engine;
  pool.engine = {
      .exchange = timed.exchange, .dispatch = timed.dispatch, .node_limit = timed.node_limit};
  pool.server.reset();
  const bool math = resource == &EnergyWork::math;
  for (std::size_t i = 0; i < kNumbers; ++i) {
    const auto number = static_cast<Number>(i);
    auto& peak = pool.peak[i];
    if (!peak && number != Number::Bf16) continue;
    peak = math ? FlopsPerSecond(1.0 / rates.of(math_of(number)).in_base_units())
                : FlopsPerSecond::infinity();
  }
  pool.machine.memory[0].bandwidth = resource == &EnergyWork::memory
                                         ? BytesPerSecond(1.0 / rates.memory.in_base_units())
                                         : BytesPerSecond::infinity();
  for (NetworkDimension& dimension : pool.machine.network) {
    dimension.latency = {};
    dimension.both_ways = false;
    dimension.bandwidth = resource == &EnergyWork::links
                              ? BytesPerSecond(1.0 / rates.link.in_base_units())
                              : BytesPerSecond::infinity();
  }
  task.popularity.reset();
  if (task.model.experts) task.model.experts->imbalance = 1.0;
  return task;
}

}  // namespace

PassEnergy::OneResource::OneResource(const Task& of, const Means& means, const Structure& structure,
                                     std::int64_t depth, Joules EnergyWork::*resource)
    : task(task_of(of, structure.pool, resource)),
      pass(task, task.model, means, structure),
      drafts(task, means, structure, pass, depth) {}

PassEnergy::PassEnergy(const Task& task, const Means& means, const Structure& structure,
                       std::int64_t depth)
    : chips_(real(structure.stage_chips())) {
  for (std::size_t i = 0; i < kResources.size(); ++i) {
    resources_[i] =
        std::make_unique<const OneResource>(task, means, structure, depth, kResources[i]);
  }
}

EnergyWork PassEnergy::of(const PassWork& work) const {
  EnergyWork joules;
  for (std::size_t i = 0; i < kResources.size(); ++i) {
    joules.*kResources[i] = Joules(chips_ * resources_[i]->pass.time(work).latency);
  }
  return joules;
}

EnergyWork PassEnergy::drafts(double requests) const {
  EnergyWork joules;
  for (std::size_t i = 0; i < kResources.size(); ++i) {
    joules.*kResources[i] = Joules(chips_ * resources_[i]->drafts.time(requests));
  }
  return joules;
}

Energy energy_of_token(const Pool& pool, double chips, double tokens_per_s,
                       const EnergyWork& work) {
  const Seconds token(1.0 / tokens_per_s);
  if (counts_energy(pool)) return energy_of(pool.machine.energy, chips, token, work);
  return {.time = token, .idle = chips * pool.power * token, .work = {}};
}

}  // namespace dfsearch::serving
