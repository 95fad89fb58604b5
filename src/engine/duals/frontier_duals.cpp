// Column generation (column_generation.hpp) with two relaxations: sets may have gaps, so all are
// found by labels (frontier_pricing.hpp); and where most kernels look alike, they and their
// neighbours, those have the same dual wherever they are, so the linear program has few rows.
// Both only take bounds away, and what is left is proved: no set at all is overpaid.
//
// Against all partitions: tests/engine/duals/frontier_duals_test.cpp.

#include "engine/duals/frontier_duals.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/duals/kernel_classes.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kClasses = 768;  // the program takes their square, for each pivot
// Duals a little too low, by these powers of two, are soon proved: sets that just pay need not all
// be told apart then.
constexpr std::array kSpared = {2, 3, 4, 5, 6, 8, 10, 63};
constexpr std::size_t kPerRound = 12;

/// The same SRAM for tensors between kernels of the same classes, the least: else hardly two sets
/// of experts would need the same where the ways of their outputs differ in length.
void make_alike(const std::vector<std::uint32_t>& classes, FrontierPlan& plan) {
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

}  // namespace

std::optional<std::vector<FrontierPricing>> frontier_pricings(const FusionTables& tables) {
  const bool of_looks = are_mostly_alike(tables);
  auto plans = frontier_plans(tables);
  if (!plans) return std::nullopt;
  std::vector<FrontierPricing> pricings;
  const auto room = std::make_shared<FrontierRoom>();
  for (auto& [plan, group] : *plans) {
    if (of_looks) make_alike(kernel_looks(tables), plan);
    pricings.emplace_back(tables, std::move(plan), group, room);
  }
  return pricings;
}

FrontierDualSearch::FrontierDualSearch(const FusionTables& tables) : ColumnGeneration(tables) {
  KernelClasses classes =
      are_mostly_alike(tables) ? kernels_by(kernel_looks(tables)) : exchanged_kernels(tables);
  if (classes.size() > kClasses) return;
  auto frontiers = frontier_pricings(tables);
  if (!frontiers) return;
  frontiers_ = std::move(*frontiers);
  begin(std::move(classes), nullptr);
}

void FrontierDualSearch::begin_pricing() { is_by_beam_ = true; }

/// A call that the steps do not suffice for begins again.
void FrontierDualSearch::price() {
  if (!is_by_beam_) {
    prove();
  } else if (is_none_overpaid(lower_duals(), beam_)) {
    is_by_beam_ = false;
  }
}

Duals FrontierDualSearch::lower_duals() const {
  Duals duals = program_->duals();
  for (FineTicks& dual : duals.kernels) dual -= dual >> kSpared[spared_];
  return duals;
}

void FrontierDualSearch::prove() {
  const Duals duals = lower_duals();
  if (!is_none_overpaid(duals, 0)) return;
  keep(made_right(duals));
  is_by_beam_ = true;
  if (++spared_ == kSpared.size()) end();
}

/// If not, what comes next is decided.
bool FrontierDualSearch::is_none_overpaid(const Duals& duals, std::size_t beam) {
  switch (add_overpaid(duals, beam)) {
    case Met::Some:
      if (beam == 0) beam_ *= kWider;
      solve_again();
      return false;
    case Met::None:
      return true;
    case Met::OutOfSteps:
      return false;
    case Met::TooMany:
      end();
      return false;
  }
  return false;
}

/// Beams may miss what is overpaid, so the program may have fallen since the last proof.
void FrontierDualSearch::keep(PartitionDuals duals) {
  const FineTicks bound = duals.bound(pricing_->rules());
  if (bound < best_) return;
  best_ = bound;
  proved_ = std::move(duals);
}

FrontierDualSearch::Met FrontierDualSearch::add_overpaid(const Duals& duals, std::size_t beam) {
  bool any = false;
  CountedCall call(tables_.allowance().efforts, SearchBound::Labels);
  for (FrontierPricing& frontier : frontiers_) {
    const auto found = frontier.find(duals, {.most = kPerRound, .beam = beam}, steps_);
    for (const PartitionColumn& partition : found.partitions) program_->add(partition);
    any = any || !found.partitions.empty();
    call.found(std::ssize(found.partitions));
    if (found.too_many) return Met::TooMany;
    if (steps_ < 0 && !found.complete) return any ? Met::Some : Met::OutOfSteps;
  }
  return any ? Met::Some : Met::None;
}

/// Lowers duals that sets overpay by no more than the noise: every set has a kernel.
PartitionDuals FrontierDualSearch::made_right(const Duals& proved) const {
  PartitionDuals duals;
  static_cast<Duals&>(duals) = proved;
  for (const FrontierPricing& frontier : frontiers_) {
    const FineTicks noise = frontier.noise(proved);
    for (const FrontierStep& step : frontier.plan().steps) {
      FineTicks& dual = duals.kernels[step.kernel];
      dual = std::max<FineTicks>(0, dual - noise);
    }
  }
  // Of those that are in no set with others, and of those that may cut their weight alone.
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const std::size_t group = pricing_->rules().group(tables_.kernel(p).backward);
    const FineTicks most = pricing_->time_alone(p) * kFinePerTick + duals.charge[group];
    duals.kernels[p] = std::min(duals.kernels[p], most);
  }
  set_gains(tables_, duals);
  return duals;
}

}  // namespace dfsearch
