#include "technology/budget.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch {
namespace {

/// `steps` * `step` as the fraction that a config would have: 3 / 10 instead of 3 * 0.1.
double fraction_of(std::int64_t steps, double step) {
  const double count = static_cast<double>(steps);
  const double whole = std::round(1.0 / step);
  return std::abs(whole * step - 1.0) < 1e-9 ? count / whole : count * step;
}

template <class Q>
Q amount(const std::optional<Share<Q>>& share, Q total, std::optional<double> step,
         std::int64_t steps) {
  if (!share) return step ? total * fraction_of(steps, *step) : Q{};
  if (const double* fraction = std::get_if<double>(&*share)) return total * *fraction;
  return std::get<Q>(*share);
}

template <class Q>
Q sum(const PerComponent<Q>& amounts) {
  Q total{};
  for (const Q& one : amounts.of) total += one;
  return total;
}

}  // namespace

// docs/technology.md (1)
Length Budget::perimeter() const { return Length(4.0 * std::sqrt(die.in_base_units())); }

bool OpenShares::any() const {
  const auto one = [](const PerComponent<bool>& open) {
    return std::find(open.of.begin(), open.of.end(), true) != open.of.end();
  };
  return one(area) || one(power) || one(edge);
}

bool is_part_of(const Technology& technology, Component part) {
  switch (part) {
    case Component::Core:
      return true;
    case Component::Registers:
      return technology.level(LevelName::Registers).has_value();
    case Component::L1:
      return technology.level(LevelName::L1).has_value();
    case Component::L2:
      return technology.level(LevelName::L2).has_value();
    case Component::Memory:
      return technology.memory.has_value();
    case Component::Intra:
      return technology.link(LinkKind::Intra).has_value();
    case Component::Inter:
      return technology.link(LinkKind::Inter).has_value();
  }
  return false;
}

OpenShares open_shares(const Budget& budget, const Technology& technology) {
  OpenShares open;
  for (const Component part : kComponents) {
    if (!is_part_of(technology, part)) continue;
    open.area[part] = !budget.area[part];
    open.power[part] = !budget.power[part];
    open.edge[part] = has_edge(part) && !budget.edge[part];
  }
  return open;
}

Split split_of(const Budget& budget, const SplitSteps& steps) {
  Split split;
  const Length perimeter = budget.perimeter();
  for (const Component part : kComponents) {
    split.area[part] = amount(budget.area[part], budget.die, budget.step, steps.area[part]);
    split.power[part] = amount(budget.power[part], budget.total, budget.step, steps.power[part]);
    if (has_edge(part)) {
      split.edge[part] = amount(budget.edge[part], perimeter, budget.step, steps.edge[part]);
    }
  }
  return split;
}

Area sum_of(const PerComponent<Area>& amounts) { return sum(amounts); }
Watts sum_of(const PerComponent<Watts>& amounts) { return sum(amounts); }
Length sum_of(const PerComponent<Length>& amounts) { return sum(amounts); }

}  // namespace dfsearch
