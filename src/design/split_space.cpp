#include "design/split_space.hpp"

#include <algorithm>

namespace dfsearch {
namespace {

std::size_t class_of(BudgetClass budget) {
  switch (budget) {
    case BudgetClass::Power:
      return 1;
    case BudgetClass::Edge:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

SplitSpace::SplitSpace(const ChipDesign& design) : design_(design) {
  const Budget& budget = design.budget;
  const OpenShares open = open_shares(budget, design.technology);
  const auto collect = [&](BudgetClass of, const PerComponent<bool>& parts) {
    for (const Component part : kComponents) {
      if (parts[part]) shares_.push_back({of, part});
    }
  };
  collect(BudgetClass::DieArea, open.area);
  collect(BudgetClass::Power, open.power);
  collect(BudgetClass::Edge, open.edge);
  if (!budget.step) return;
  const Split given = split_of(budget);
  const auto steps = [&](double used) {
    const bool checked = design.equations.budget_sums == BudgetSums::Checked;
    return static_cast<std::int32_t>(whole_part((checked ? 1.0 - used : 1.0) / *budget.step));
  };
  steps_ = {steps(sum_of(given.area) / budget.die), steps(sum_of(given.power) / budget.total),
            steps(sum_of(given.edge) / budget.perimeter())};
}

SplitBox SplitSpace::all() const {
  SplitBox box{.least = GridPoint(shares_.size(), 0), .most = {}};
  for (const OpenShare& share : shares_) box.most.push_back(steps_[class_of(share.budget)]);
  return box;
}

double SplitSpace::count() const {
  const bool checked = design_.equations.budget_sums == BudgetSums::Checked;
  double count = 1.0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    const double steps = static_cast<double>(steps_[c]);
    // There are (n + s choose s) ways to give s shares at most n steps together, computed so that
    // every intermediate value is whole.
    double ways = 1.0;
    double chosen = 0.0;
    for (const OpenShare& share : shares_) {
      if (class_of(share.budget) != c) continue;
      chosen += 1.0;
      ways = checked ? ways * (steps + chosen) / chosen : ways * (steps + 1.0);
    }
    count *= ways;
  }
  return count;
}

bool SplitSpace::tighten(SplitBox& box) const {
  std::array<std::int32_t, kClasses> left = steps_;
  const bool checked = design_.equations.budget_sums == BudgetSums::Checked;
  for (std::size_t i = 0; checked && i < shares_.size(); ++i) {
    left[class_of(shares_[i].budget)] -= box.least[i];
  }
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const std::int32_t room = left[class_of(shares_[i].budget)];
    if (room < 0) return false;
    if (checked) box.most[i] = std::min(box.most[i], box.least[i] + room);
    if (box.most[i] < box.least[i]) return false;
  }
  return true;
}

GridPoint SplitSpace::middle(const SplitBox& box) const {
  if (design_.equations.budget_sums == BudgetSums::Unchecked) return box.most;
  std::array<std::int64_t, kClasses> room{};
  std::array<std::int64_t, kClasses> width{};
  for (std::size_t c = 0; c < kClasses; ++c) room[c] = steps_[c];
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const std::size_t c = class_of(shares_[i].budget);
    room[c] -= box.least[i];
    width[c] += box.most[i] - box.least[i];
  }
  GridPoint point = box.least;
  std::array<std::int64_t, kClasses> spent{};
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const std::size_t c = class_of(shares_[i].budget);
    if (width[c] == 0) continue;
    const std::int64_t use = std::min(room[c], width[c]);
    const std::int64_t more = use * (box.most[i] - box.least[i]) / width[c];
    point[i] += static_cast<std::int32_t>(more);
    spent[c] += more;
  }
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const std::size_t c = class_of(shares_[i].budget);
    const std::int64_t more = std::min<std::int64_t>(box.most[i] - point[i], room[c] - spent[c]);
    if (more <= 0) continue;
    point[i] += static_cast<std::int32_t>(more);
    spent[c] += more;
  }
  return point;
}

Split SplitSpace::split(const GridPoint& point) const {
  SplitSteps steps;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto [budget, part] = shares_[i];
    if (budget == BudgetClass::DieArea) steps.area[part] = point[i];
    if (budget == BudgetClass::Power) steps.power[part] = point[i];
    if (budget == BudgetClass::Edge) steps.edge[part] = point[i];
  }
  return split_of(design_.budget, steps);
}

}  // namespace dfsearch
