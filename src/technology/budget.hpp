#pragma once
// Budgets of a chip and its parts: die, power and edge (docs/technology.md, section 2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/units.hpp"
#include "technology/technology.hpp"

namespace dfsearch {

/// The parts of a chip that share its budgets, in the order of ties.
enum class Component : std::uint8_t { Core, Registers, L1, L2, Memory, Intra, Inter };
inline constexpr std::array kComponents = {Component::Core, Component::Registers, Component::L1,
                                           Component::L2,   Component::Memory,    Component::Intra,
                                           Component::Inter};

constexpr Component component_of(LevelName level) {
  return static_cast<Component>(static_cast<std::size_t>(Component::Registers) +
                                static_cast<std::size_t>(level));
}
constexpr Component component_of(LinkKind kind) {
  return kind == LinkKind::Intra ? Component::Intra : Component::Inter;
}

/// Whether parts of this kind use the edge of the die.
constexpr bool has_edge(Component part) { return part >= Component::Memory; }

/// One value for each part of a chip.
template <class T>
struct PerComponent {
  std::array<T, kComponents.size()> of{};

  [[nodiscard]] const T& operator[](Component part) const {
    return of[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] T& operator[](Component part) { return of[static_cast<std::size_t>(part)]; }
};

/// A fraction of a total, or an amount.
template <class Q>
using Share = std::variant<double, Q>;

/// A budget as a config gives it; shares that are left out are searched.
struct Budget {
  Area package{};
  Area die{};
  Watts total{};
  PerComponent<std::optional<Share<Area>>> area;
  PerComponent<std::optional<Share<Watts>>> power;
  PerComponent<std::optional<Share<Length>>> edge;  ///< of memory and links
  std::optional<double> step;                       ///< step of the grid of searched shares

  /// The edge of the die, which is assumed to be square.
  [[nodiscard]] Length perimeter() const;
};

/// A split of the budgets: the amounts that each part has.
struct Split {
  PerComponent<Area> area;
  PerComponent<Watts> power;
  PerComponent<Length> edge;
};

/// Number of steps of each share that a budget leaves out; 0 for given shares.
struct SplitSteps {
  PerComponent<std::int64_t> area;
  PerComponent<std::int64_t> power;
  PerComponent<std::int64_t> edge;
};

/// The parts of the technology whose shares a budget leaves to the search.
struct OpenShares {
  PerComponent<bool> area;
  PerComponent<bool> power;
  PerComponent<bool> edge;

  [[nodiscard]] bool any() const;
};

/// Whether the technology has such a part; every technology has cores.
bool is_part_of(const Technology& technology, Component part);

OpenShares open_shares(const Budget& budget, const Technology& technology);

/// Every share as an amount.  An open share is its number of steps times the step times the total.
/// An amount never falls when its steps grow.
Split split_of(const Budget& budget, const SplitSteps& steps = {});

/// The sums of area, power and edge over all components, added in their order.
Area sum_of(const PerComponent<Area>& amounts);
Watts sum_of(const PerComponent<Watts>& amounts);
Length sum_of(const PerComponent<Length>& amounts);

}  // namespace dfsearch
