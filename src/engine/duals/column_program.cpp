#include "engine/duals/column_program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/tables/partition_rules.hpp"
#include "engine/tables/partition_time.hpp"

namespace dfsearch {
namespace {

// Sum of all duals: twice as much does not overflow.
constexpr Ticks kGreatest = kGreatestDual / kFinePerTick;

}  // namespace

ColumnProgram::ColumnProgram(const FusionTables& tables, KernelClasses alike)
    : tables_(tables), alike_(std::move(alike)), class_of_(tables.size()) {
  const PartitionRules rules(tables);
  std::vector<CoveringLp::Class> classes;
  Ticks total = 0;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    for (const std::size_t p : alike_[c]) {
      class_of_[p] = static_cast<std::uint32_t>(c);
      total = std::min(total + std::min(time_alone(tables, p), kGreatest), kGreatest);
    }
    const std::size_t first = alike_[c].front();
    classes.push_back({.cost = static_cast<double>(time_alone(tables, first)),
                       .group = rules.group(tables.kernel(first).backward),
                       .kernels = std::ssize(alike_[c])});
  }
  if (total == kGreatest) return;
  std::vector<double> limits;
  for (std::size_t g = 0; g < rules.groups(); ++g) limits.push_back(rules.left(g, 0));
  program_.emplace(classes, std::move(limits));
}

CoveringLp::Outcome ColumnProgram::solve(Work& work) {
  if (!program_) return CoveringLp::Outcome::Failed;
  const CoveringLp::Outcome outcome = program_->solve(work);
  if (outcome != CoveringLp::Outcome::Solved || take_duals()) return outcome;
  return CoveringLp::Outcome::Failed;
}

/// False if they are too high to be added up.
bool ColumnProgram::take_duals() {
  duals_.kernels.assign(tables_.size(), 0);
  long double sum = 0.0L;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    const long double dual = program_->duals()[c];
    sum += dual * static_cast<long double>(alike_[c].size());
    if (!(sum < static_cast<long double>(kGreatest))) return false;
    for (const std::size_t p : alike_[c]) {
      duals_.kernels[p] = static_cast<FineTicks>(std::floor(dual * kFinePerTick));
    }
  }
  for (std::size_t g = 0; g < program_->charges().size(); ++g) {
    const long double charge = program_->charges()[g];
    sum += charge * static_cast<long double>(tables_.size());
    if (!(sum < static_cast<long double>(kGreatest))) return false;
    duals_.charge[g] = static_cast<FineTicks>(std::ceil(charge * kFinePerTick));
  }
  return true;
}

void ColumnProgram::add(const PartitionColumn& partition) {
  std::vector<std::int64_t> kernels(alike_.size(), 0);
  partition.kernels.for_each([&](std::size_t p) { ++kernels[class_of_[p]]; });
  std::vector<CoveringLp::Count> counts;
  for (std::size_t c = 0; c < alike_.size(); ++c) {
    if (kernels[c] > 0) counts.push_back({.of = c, .kernels = kernels[c]});
  }
  program_->add(counts, partition.group, static_cast<double>(partition.time));
}

}  // namespace dfsearch
