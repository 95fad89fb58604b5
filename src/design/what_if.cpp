#include "design/what_if.hpp"

#include <cmath>

#include "base/deadline.hpp"

namespace dfsearch {
namespace {

// Ticks follow the machine: below this a change is one of roundings (docs/search.md, section 14).
constexpr double kRounding = 1e-11;

class WhatIfSearch {
 public:
  WhatIfSearch(const Problem& problem, const ChipDesign& design, const Chip& chip, Score objective,
               MachineAnswers& answers)
      : problem_(problem), design_(design), chip_(chip), objective_(objective), answers_(answers) {
    design_.equations.budget_sums = BudgetSums::Unchecked;
  }

  std::vector<BudgetGain> gains() {
    const Budget& budget = design_.budget;
    const OpenShares open = open_shares(budget, design_.technology);
    each(BudgetClass::DieArea, open.area, chip_.split.area, &Split::area, budget.die);
    each(BudgetClass::Power, open.power, chip_.split.power, &Split::power, budget.total);
    each(BudgetClass::Edge, open.edge, chip_.split.edge, &Split::edge, budget.perimeter());
    if (design_.technology.memory) {
      const Area more = 0.1 * budget.package;
      ChipDesign larger = design_;
      larger.budget.package += more;
      add({.budget = BudgetClass::Package,
           .has = budget.package.in_base_units(),
           .more = more.in_base_units()},
          larger, chip_.split);
    }
    return std::move(gains_);
  }

 private:
  template <class Q>
  void each(BudgetClass budget, const PerComponent<bool>& open, const PerComponent<Q>& has,
            PerComponent<Q> Split::*of, Q total) {
    for (const Component part : kComponents) {
      const bool searched = open[part];
      const Q more = searched ? design_.budget.step.value_or(0.0) * total : 0.1 * has[part];
      if (!(more > Q{})) continue;
      Split split = chip_.split;
      (split.*of)[part] += more;
      add({.budget = budget,
           .part = part,
           .searched = searched,
           .has = has[part].in_base_units(),
           .more = more.in_base_units()},
          design_, split);
    }
  }

  void add(BudgetGain gain, const ChipDesign& design, const Split& split) {
    try {
      if (!stopped_) find(gain, design, split);
    } catch (const Stopped&) {
      stopped_ = true;
    }
    gains_.push_back(gain);
  }

  void find(BudgetGain& gain, const ChipDesign& design, const Split& split) {
    const Chip chip = derive(design, split, problem_.system.network);
    gain.known = WhatIf::NoChip;
    if (!chip.infeasible.empty()) return;
    const auto machine = machine_with(problem_, design, chip);
    if (!machine) return;
    gain.known = WhatIf::Unknown;
    const Score objective = answers_.least(*machine);
    gain.known = objective < Score::infinity() ? WhatIf::Known : WhatIf::NoMapping;
    if (gain.known != WhatIf::Known) return;
    gain.objective = objective;
    gain.change = (objective - objective_) / objective_;
    if (std::abs(gain.change) < kRounding) gain.change = 0.0;
  }

  const Problem& problem_;
  ChipDesign design_;
  const Chip& chip_;
  const Score objective_;
  MachineAnswers& answers_;
  std::vector<BudgetGain> gains_;
  bool stopped_ = false;
};

}  // namespace

std::vector<BudgetGain> budget_gains(const Problem& problem, const ChipDesign& design,
                                     const Chip& chip, Score objective, MachineAnswers& answers) {
  return WhatIfSearch(problem, design, chip, objective, answers).gains();
}

}  // namespace dfsearch
