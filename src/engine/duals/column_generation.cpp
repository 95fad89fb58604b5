// Column generation (Gilmore and Gomory 1961).  A linear program covers the kernels with the
// partitions known so far and proposes its duals; partitions of positive excess at these duals are
// found by pricing and join the program.  When no partition has positive excess, the sum of the
// duals is a bound of all fusions.
//
// There are two relaxations.  A set may leave out kernels on a path between two of its kernels, so
// that label pricing finds all sets (label_pricing.hpp).  If most kernels are alike, neighbours
// included, kernels of one colour have the same dual, so that the linear program has few rows.
// Both only lower the bound.  The bound holds, since in the end no set of the relaxed problem has
// positive excess.
//
// tests/engine/duals/column_generation_test.cpp compares the duals with the times of all
// partitions.

#include "engine/duals/column_generation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <tuple>

#include "engine/tables/partition_time.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kClasses = 768;  // limit: the work of a pivot grows with its square
// The numbers n of this list are tried in turn: each dual is lowered by 2^-n of its value.  The
// more the duals are lowered, the fewer sets have positive excess, and the sooner they are proved.
constexpr std::array kSpared = {2, 3, 4, 5, 6, 8, 10, 63};
// Limit of the sum of all duals, in ticks.
constexpr Ticks kGreatest = kGreatestDual / kFinePerTick;
constexpr Work kWordsOfColumn = 3'000;  // work per kernel to find its class and its place in a path

constexpr std::size_t kMostColours = 48;
constexpr std::size_t kKernelsOfColour = 4;  // least mean number of kernels of a colour
constexpr int kRoundsOfColours = 3;          // the last one sees the neighbours of neighbours

}  // namespace

std::optional<std::vector<LabelPricing>> label_pricings(const FusionTables& tables) {
  auto paths = path_decompositions(tables);
  if (!paths) return std::nullopt;
  std::vector<LabelPricing> pricings;
  const auto room = std::make_shared<CompletionBounds>();
  for (auto& [path, group] : *paths) {
    pricings.emplace_back(tables, std::move(path), group, room);
  }
  return pricings;
}

ColumnGeneration::ColumnGeneration(const FusionTables& tables, Work& work)
    : tables_(tables), rules_(tables) {
  std::vector<std::uint32_t> each(tables.size());
  std::iota(each.begin(), each.end(), 0U);
  classes_ = kernels_by(are_mostly_alike(tables) ? kernel_colours(tables) : each);
  work -= static_cast<Work>(tables.size()) * kWordsOfColumn;
  if (classes_.size() > kClasses) return;
  auto pricings = label_pricings(tables);
  if (!pricings) return;
  pricings_ = std::move(*pricings);
  work -= static_cast<Work>(classes_.size() * classes_.size());
  make_program();
  if (program_) stage_ = Stage::Program;
}

/// Sets up the program that covers the kernels with sets, at first each kernel alone.
void ColumnGeneration::make_program() {
  std::vector<CoveringLp::Class> classes;
  class_of_.resize(tables_.size());
  Ticks total = 0;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (const std::size_t p : classes_[c]) {
      class_of_[p] = static_cast<std::uint32_t>(c);
      total = std::min(total + std::min(time_alone(tables_, p), kGreatest), kGreatest);
    }
    const std::size_t first = classes_[c].front();
    classes.push_back({.cost = static_cast<double>(time_alone(tables_, first)),
                       .group = rules_.group(tables_.kernel(first).backward),
                       .kernels = std::ssize(classes_[c])});
  }
  if (total == kGreatest) return;
  std::vector<double> limits;
  for (std::size_t g = 0; g < rules_.groups(); ++g) limits.push_back(rules_.left(g, 0));
  program_.emplace(classes, std::move(limits));
}

void ColumnGeneration::advance(Work& work) {
  while (work > 0 && !has_ended() && !proved_) {
    tables_.deadline().check();
    stage_ == Stage::Program ? solve_program(work) : price(work);
  }
}

void ColumnGeneration::solve_program(Work& work) {
  const CoveringLp::Outcome outcome = program_->solve(work);
  if (outcome == CoveringLp::Outcome::OutOfWork) return;
  is_by_beam_ = true;
  stage_ = outcome == CoveringLp::Outcome::Solved && take_duals() ? Stage::Pricing : Stage::Ended;
}

/// Returns false if the duals are too high to be added up.
bool ColumnGeneration::take_duals() {
  duals_.kernels.assign(tables_.size(), 0);
  long double sum = 0.0L;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const long double dual = program_->duals()[c];
    sum += dual * static_cast<long double>(classes_[c].size());
    if (!(sum < static_cast<long double>(kGreatest))) return false;
    for (const std::size_t p : classes_[c]) {
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

void ColumnGeneration::add(const PartitionColumn& partition) {
  std::vector<std::int64_t> kernels(classes_.size(), 0);
  partition.kernels.for_each([&](std::size_t p) { ++kernels[class_of_[p]]; });
  std::vector<CoveringLp::Count> counts;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (kernels[c] > 0) counts.push_back({.of = c, .kernels = kernels[c]});
  }
  program_->add(counts, partition.group, static_cast<double>(partition.time));
}

/// Looks for sets of positive excess, first by a beam search.  All sets that are found join the
/// program; if a search with all labels finds none, the duals are proved.
void ColumnGeneration::price(Work& work) {
  const Duals duals = lower_duals();
  for (; priced_ < pricings_.size(); ++priced_) {
    const auto found = pricings_[priced_].find(duals, is_by_beam_ ? beam_ : 0, work);
    if (found.end == LabelPricing::Status::OutOfWork) return;
    if (found.end == LabelPricing::Status::TooMany) {
      stage_ = Stage::Ended;
      return;
    }
    for (const PartitionColumn& partition : found.partitions) add(partition);
    is_any_overpaid_ = is_any_overpaid_ || !found.partitions.empty();
  }
  priced_ = 0;
  if (std::exchange(is_any_overpaid_, false)) {
    if (!is_by_beam_) beam_ *= kWider;
    stage_ = Stage::Program;
  } else if (is_by_beam_) {
    is_by_beam_ = false;
  } else {
    keep(made_right(duals));
    is_by_beam_ = true;
    if (++spared_ == kSpared.size()) stage_ = Stage::Ended;
  }
}

Duals ColumnGeneration::lower_duals() const {
  Duals duals = duals_;
  for (FineTicks& dual : duals.kernels) dual -= dual >> kSpared[spared_];
  return duals;
}

/// Keeps the duals if their bound is no lower than the best one.  A later bound may be lower, since
/// sets that join the program lower its optimum.
void ColumnGeneration::keep(PartitionDuals duals) {
  const FineTicks bound = duals.bound(rules_);
  if (bound < best_) return;
  best_ = bound;
  proved_ = std::move(duals);
}

/// Lowers each dual by the noise.  Pricing misses sets with an excess up to the noise; as every set
/// has a kernel, the lower duals leave them no excess.
PartitionDuals ColumnGeneration::made_right(const Duals& proved) const {
  PartitionDuals duals;
  static_cast<Duals&>(duals) = proved;
  for (const LabelPricing& pricing : pricings_) {
    const FineTicks noise = pricing.noise(proved);
    for (const DecompositionStep& step : pricing.path().steps) {
      FineTicks& dual = duals.kernels[step.kernel];
      dual = std::max<FineTicks>(0, dual - noise);
    }
  }
  // Pricing leaves out kernels that must be alone, and sets of one kernel whose weight is read in
  // pieces.  So each dual is limited to the time of its kernel alone, plus the charge.
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const std::size_t group = rules_.group(tables_.kernel(p).backward);
    const FineTicks most = time_alone(tables_, p) * kFinePerTick + duals.charge[group];
    duals.kernels[p] = std::min(duals.kernels[p], most);
  }
  set_gains(tables_, duals);
  return duals;
}

std::vector<std::uint32_t> kernel_colours(const FusionTables& tables) {
  std::vector<std::uint32_t> classes(tables.size(), 0);
  for (int round = 0; round < kRoundsOfColours; ++round) {
    using End = std::tuple<bool, std::uint32_t, Ticks, Ticks, Bytes>;
    using Signature = std::tuple<Ticks, Ticks, Ticks, Bytes, bool, bool, bool, bool, std::uint32_t,
                                 std::vector<End>>;
    std::map<Signature, std::uint32_t> colours;
    std::vector<std::uint32_t> next;
    for (std::size_t p = 0; p < tables.size(); ++p) {
      const KernelCosts& kernel = tables.kernel(p);
      std::vector<End> ends;
      const auto add = [&](std::span<const Arc> arcs, bool is_input) {
        for (const Arc& arc : arcs) {
          ends.emplace_back(is_input, classes[arc.other], arc.transfer, arc.opposite, arc.streamed);
        }
      };
      add(tables.inputs(p), true);
      add(tables.outputs(p), false);
      std::sort(ends.begin(), ends.end());
      const auto number = static_cast<std::uint32_t>(colours.size());
      next.push_back(colours
                         .try_emplace({kernel.compute, kernel.network, kernel.explicit_memory,
                                       kernel.weight, kernel.backward, kernel.repeats,
                                       kernel.lonely, kernel.escapes, classes[p], std::move(ends)},
                                      number)
                         .first->second);
    }
    if (round > 0 && colours.size() > kMostColours) break;
    classes = std::move(next);
  }
  return classes;
}

KernelClasses kernels_by(const std::vector<std::uint32_t>& classes) {
  KernelClasses kernels;
  for (std::size_t p = 0; p < classes.size(); ++p) {
    if (classes[p] >= kernels.size()) kernels.resize(classes[p] + std::size_t{1});
    kernels[classes[p]].push_back(p);
  }
  return kernels;
}

bool are_mostly_alike(const FusionTables& tables) {
  return kernels_by(kernel_colours(tables)).size() * kKernelsOfColour <= tables.size();
}

}  // namespace dfsearch
