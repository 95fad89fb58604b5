// Solved from the beginning for every rest: classes are few.

#include "engine/duals/frontier_program.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace dfsearch {
namespace {

// Partial sets kept.  What more would find changes hardly a choice, and takes most of the time.
constexpr std::size_t kBeam = 32;
constexpr std::size_t kColumnsPerRound = 12;
constexpr FineTicks kGreatestDualSum = kGreatestDual / 4;

}  // namespace

FrontierProgram::FrontierProgram(const FusionTables& tables, std::vector<FrontierPricing>& pricings)
    : tables_(tables),
      rules_(tables),
      pricings_(pricings),
      class_of_(kernel_looks(tables)),
      alike_(kernels_by(class_of_)) {
  FineTicks total = 0;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const Ticks time = alone(p);
    adds_up_ = adds_up_ && time < (kGreatestDualSum - total) / kFinePerTick;
    if (adds_up_) total += time * kFinePerTick;
  }
}

/// No more than a partition of this kernel takes.
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
  } while (add_overpaid(done, kBeam, steps));
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
    program.add(counts, column.group, static_cast<double>(column.time));
  }
  if (program.solve(steps) != CoveringLp::Outcome::Solved) return false;
  duals_.kernels.assign(tables_.size(), 0);
  long double sum = 0.0L;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    if (row_of[c] >= classes.size()) continue;
    const long double dual = program.duals()[row_of[c]] * kFinePerTick;
    sum += dual * static_cast<long double>(alike_[c].size());
    if (!(sum < static_cast<long double>(kGreatestDualSum))) return false;
    for (const std::size_t p : alike_[c]) {
      if (!done.contains(p)) duals_.kernels[p] = static_cast<FineTicks>(std::floor(dual));
    }
  }
  for (std::size_t g = 0; g < rules_.groups(); ++g) {
    const long double charge = program.charges()[g] * kFinePerTick;
    sum += charge * static_cast<long double>(tables_.size());
    if (!(sum < static_cast<long double>(kGreatestDualSum))) return false;
    duals_.charge[g] = static_cast<FineTicks>(std::ceil(charge));
  }
  return true;
}

/// Sets that are overpaid, all there are; false if there are none or the steps are over.
bool FrontierProgram::add_overpaid(const KernelSet& done, std::size_t beam, std::int64_t& steps) {
  bool any = false;
  for (FrontierPricing& pricing : pricings_) {
    if (steps <= 0) return false;
    const auto found = pricing.find(
        duals_, {.most = kColumnsPerRound, .beam = beam, .choice = {.done = &done}}, steps);
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

}  // namespace dfsearch
