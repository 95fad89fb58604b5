// Column generation as in partition_duals.cpp, with two relaxations: kernels that look alike, they
// and their neighbours, have the same dual wherever they are, so the linear program has few rows;
// and sets may have gaps, so all are found by labels (frontier_pricing.hpp).  Both only take bounds
// away, and what is left is proved: no set at all is overpaid.
//
// Against all partitions: tests/engine/duals/frontier_duals_test.cpp.

#include "engine/duals/frontier_duals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/duals/covering_lp.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kClasses = 48;
constexpr std::size_t kKernelsOfClass = 4;  // in the mean, at least
constexpr std::size_t kWidest = 12;
constexpr std::size_t kStates = std::size_t{1} << 18;  // of the frontier, over all steps
// Partial sets kept while that finds any; then all of them.
constexpr std::array<std::size_t, 2> kBeams = {32, 256};
// Duals a little too low, by these powers of two, are soon proved, for then all sets that just pay need not be told apart.
constexpr std::array<int, 4> kSpared = {4, 7, 10, 63};
constexpr std::size_t kPerRound = 12;
constexpr FineTicks kGreatestSum = kGreatestDual / 4;

using Classes = std::vector<std::uint32_t>;

std::size_t count(const Classes& classes) {
  return classes.empty() ? 0 : *std::max_element(classes.begin(), classes.end()) + std::size_t{1};
}

/// By what kernels and their tensors cost, then also by how their neighbours look, as long as
/// there are not too many classes.
Classes find_classes(const FusionTables& tables) {
  Classes classes(tables.size(), 0);
  for (int round = 0; round < 3; ++round) {
    using End = std::tuple<bool, std::uint32_t, Ticks, Bytes>;
    using Look = std::tuple<Ticks, Ticks, Ticks, Bytes, bool, bool, bool, bool, std::uint32_t,
                            std::vector<End>>;
    std::map<Look, std::uint32_t> looks;
    Classes next;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const KernelCosts& kernel = tables.kernel(p);
      std::vector<End> ends;
      const auto add = [&](std::span<const Arc> arcs, bool is_input) {
        for (const Arc& arc : arcs) {
          ends.emplace_back(is_input, classes[arc.other], arc.transfer, arc.streamed);
        }
      };
      add(tables.inputs(p), true);
      add(tables.outputs(p), false);
      std::sort(ends.begin(), ends.end());
      const auto number = static_cast<std::uint32_t>(looks.size());
      next.push_back(looks
                         .try_emplace({kernel.compute, kernel.network, kernel.explicit_memory,
                                       kernel.weight, kernel.backward, kernel.repeats,
                                       kernel.lonely, kernel.escapes, classes[p], std::move(ends)},
                                      number)
                         .first->second);
    }
    if (round > 0 && looks.size() > kClasses) break;
    classes = std::move(next);
  }
  return classes;
}

/// The same SRAM for tensors between kernels of the same classes, the least: else hardly two sets
/// of experts would need the same where the ways of their outputs differ in length.
void make_alike(const Classes& classes, FrontierPlan& plan) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool, Ticks, Bytes>, Bytes> least;
  const auto key = [&](const FrontierStep& step, const FrontierStep::Link& link) {
    const bool ordered = classes[step.kernel] < classes[link.other];
    return std::tuple(std::min(classes[step.kernel], classes[link.other]),
                      std::max(classes[step.kernel], classes[link.other]),
                      link.from_other == ordered, link.transfer, link.streamed);
  };
  for (const FrontierStep& step : plan.steps) {
    for (const FrontierStep::Link& link : step.links) {
      Bytes& fused = least.try_emplace(key(step, link), link.fused).first->second;
      fused = std::min(fused, link.fused);
    }
  }
  for (FrontierStep& step : plan.steps) {
    for (FrontierStep::Link& link : step.links) link.fused = least.at(key(step, link));
  }
}

/// Lowers duals that sets overpay by no more than the noise: every set has a kernel.
PartitionDuals made_right(const FusionTables& tables, const FrontierProgram& program,
                          const std::vector<FrontierPricing>& pricings, const Duals& proved) {
  PartitionDuals duals;
  static_cast<Duals&>(duals) = proved;
  for (const FrontierPricing& pricing : pricings) {
    const FineTicks noise = pricing.noise(proved);
    for (const FrontierStep& step : pricing.plan().steps) {
      FineTicks& dual = duals.kernels[step.kernel];
      dual = std::max<FineTicks>(0, dual - noise);
    }
  }
  // Of those that are in no set with others, and of those that may cut their weight alone.
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const FineTicks charge = duals.charge[program.rules().group(tables.kernel(p).backward)];
    duals.kernels[p] = std::min(duals.kernels[p], program.alone(p) * kFinePerTick + charge);
  }
  set_gains(tables, duals);
  return duals;
}

}  // namespace

bool are_mostly_alike(const FusionTables& tables) {
  return count(find_classes(tables)) * kKernelsOfClass <= tables.size();
}

std::optional<std::vector<FrontierPricing>> frontier_pricings(const FusionTables& tables,
                                                              FrontierUse use) {
  const Classes classes = find_classes(tables);
  const PartitionRules rules(tables);
  std::map<std::pair<bool, bool>, KernelSet> sharing;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    if (kernel.lonely) continue;
    const bool backward = kernel.backward && !tables.phases_mix();
    sharing.try_emplace({backward, kernel.repeats}, tables.size()).first->second.insert(p);
  }
  std::vector<FrontierPricing> pricings;
  for (const auto& [kind, kernels] : sharing) {
    auto plan = frontier_plan(tables, kernels, kWidest);
    if (!plan || (plan->steps.size() << plan->width) > kStates) return std::nullopt;
    if (use == FrontierUse::Bound) make_alike(classes, *plan);
    pricings.emplace_back(tables, std::move(*plan), rules.group(kind.first));
  }
  return pricings;
}

FrontierProgram::FrontierProgram(const FusionTables& tables, std::vector<FrontierPricing>& pricings)
    : tables_(tables), rules_(tables), pricings_(pricings), class_of_(find_classes(tables)) {
  alike_.resize(count(class_of_));
  FineTicks total = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    alike_[class_of_[p]].push_back(p);
    const Ticks time = alone(p);
    adds_up_ = adds_up_ && time < (kGreatestSum - total) / kFinePerTick;
    if (adds_up_) total += time * kFinePerTick;
  }
}

Ticks FrontierProgram::alone(std::size_t p) const {
  const KernelCosts& kernel = tables_.kernel(p);
  Ticks memory = kernel.explicit_memory;
  for (const Arc& arc : tables_.inputs(p)) memory += arc.transfer;
  for (const Arc& arc : tables_.outputs(p)) memory += arc.transfer;
  const KernelParts own =
      parts(tables_.problem().execution.overlap, kernel.compute, kernel.network, memory);
  return *std::max_element(own.begin(), own.end());
}

bool FrontierProgram::solve(const KernelSet& done, std::int64_t& steps) {
  if (!adds_up_) return false;
  do {
    tables_.deadline().check();
    if (!solve_once(done, steps)) return false;
  } while (std::any_of(kBeams.begin(), kBeams.end(),
                       [&](std::size_t beam) { return add_overpaid(duals_, done, beam, steps); }));
  return steps > 0;
}

std::optional<FineTicks> FrontierProgram::value(const KernelSet& done, std::int64_t& steps) {
  if (!adds_up_ || !solve_once(done, steps)) return std::nullopt;
  return std::accumulate(duals_.kernels.begin(), duals_.kernels.end(), FineTicks{0});
}

/// Over the sets there are.  False if its values are too high to be added up.
bool FrontierProgram::solve_once(const KernelSet& done, std::int64_t& steps) {
  std::vector<CoveringLp::Class> classes;
  std::vector<std::size_t> row_of(alike_.size(), alike_.size());
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    const auto left = std::count_if(alike_[c].begin(), alike_[c].end(),
                                    [&](std::size_t p) { return !done.contains(p); });
    if (left == 0) continue;
    const std::size_t first = alike_[c].front();
    row_of[c] = classes.size();
    classes.push_back({.cost = static_cast<double>(alone(first)),
                       .group = rules_.group(tables_.kernel(first).backward),
                       .kernels = left});
  }
  std::vector<double> limits;
  for (std::size_t g = 0; g < rules_.groups(); ++g) limits.push_back(rules_.left(g, 0));
  CoveringLp program(classes, std::move(limits));
  for (const Column& column : columns_) {
    std::vector<CoveringLp::Count> counts;
    for (const CoveringLp::Count& of : column.counts) {
      if (row_of[of.of] < classes.size()) {
        counts.push_back({.of = row_of[of.of], .kernels = of.kernels});
      }
    }
    if (counts.size() < column.counts.size()) continue;
    program.add(std::move(counts), column.group, static_cast<double>(column.time));
  }
  if (program.solve(steps) != CoveringLp::Outcome::Solved) return false;
  duals_.kernels.assign(tables_.size(), 0);
  long double sum = 0.0L;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    if (row_of[c] >= classes.size()) continue;
    const long double dual = program.duals()[row_of[c]] * kFinePerTick;
    sum += dual * static_cast<long double>(alike_[c].size());
    if (!(sum < static_cast<long double>(kGreatestSum))) return false;
    for (const std::size_t p : alike_[c]) {
      if (!done.contains(p)) duals_.kernels[p] = static_cast<FineTicks>(std::floor(dual));
    }
  }
  for (std::size_t g = 0; g < rules_.groups(); ++g) {
    const long double charge = program.charges()[g] * kFinePerTick;
    sum += charge * static_cast<long double>(tables_.size());
    if (!(sum < static_cast<long double>(kGreatestSum))) return false;
    duals_.charge[g] = static_cast<FineTicks>(std::ceil(charge));
  }
  return true;
}

bool FrontierProgram::add_overpaid(const Duals& duals, const KernelSet& done, std::size_t beam,
                                   std::int64_t& steps) {
  bool any = false;
  for (FrontierPricing& pricing : pricings_) {
    if (steps <= 0) return false;
    const auto found = pricing.find(duals, {.most = kPerRound, .beam = beam, .done = &done}, steps);
    for (const PartitionColumn& column : found.partitions) {
      std::map<std::size_t, std::int64_t> inside;
      column.kernels.for_each([&](std::size_t p) { ++inside[class_of_[p]]; });
      Column& known = columns_.emplace_back();
      for (const auto& [of, kernels] : inside)
        known.counts.push_back({.of = of, .kernels = kernels});
      known.group = column.group;
      known.time = column.time;
      any = true;
    }
  }
  return any;
}

std::optional<PartitionDuals> frontier_duals(const FusionTables& tables, std::int64_t& steps) {
  auto pricings = frontier_pricings(tables, FrontierUse::Bound);
  if (!pricings) return std::nullopt;
  FrontierProgram program(tables, *pricings);
  const KernelSet none(tables.size());
  std::optional<PartitionDuals> best;
  for (const int spared : kSpared) {
    Duals duals;
    do {
      if (!program.solve(none, steps)) return best;
      duals = program.duals();
      for (FineTicks& dual : duals.kernels) dual -= dual >> spared;
    } while (program.add_overpaid(duals, none, 0, steps));
    if (steps <= 0) return best;
    best = made_right(tables, program, *pricings, duals);
  }
  return best;
}

}  // namespace dfsearch
