#pragma once
// Rows of the config sections `technology` and `budget`, and of the switches of `equations` about
// chips.

#include "schema/schema.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

constexpr auto words(LinkPorts) { return named<LinkPorts>("topology", "four_and_one"); }
constexpr auto words(BudgetSums) { return named<BudgetSums>("checked", "unchecked"); }
constexpr auto words(GemmTiles) { return named<GemmTiles>("all", "drawn"); }
constexpr auto words(VoltageFloor) { return named<VoltageFloor>("exact", "squared"); }

/// The switches of the section `equations` that are about chips.
const Schema& schema_of(Rows<TechnologyEquations>);
const Schema& schema_of(Rows<Transistors>);
const Schema& schema_of(Rows<CoreTechnology>);
const Schema& schema_of(Rows<LevelTechnology>);
const Schema& schema_of(Rows<MemoryTechnology>);
const Schema& schema_of(Rows<LinkTechnology>);
const Schema& schema_of(Rows<Technology>);
const Schema& schema_of(Rows<Budget>);

/// Type of a share: a plain number is a fraction, a quantity an amount.
template <class Q>
struct TypeOf<Share<Q>> {
  static constexpr Type fraction{
      .form = Form::Number,
      .put_real = [](void* member,
                     double value) { *static_cast<Share<Q>*>(member) = Share<Q>(value); },
      .get_real =
          [](const void* member) {
            return std::get<double>(*static_cast<const Share<Q>*>(member));
          },
      .limits = {0, 1}};
  static constexpr Type type{
      .form = Form::Quantity,
      .get =
          [](const void* member) {
            return static_cast<std::int64_t>(
                std::holds_alternative<Q>(*static_cast<const Share<Q>*>(member)));
          },
      .put_real = [](void* member,
                     double value) { *static_cast<Share<Q>*>(member) = Share<Q>(Q(value)); },
      .get_real =
          [](const void* member) {
            return std::get<Q>(*static_cast<const Share<Q>*>(member)).in_base_units();
          },
      .unit = kUnitOf<Q>,
      .inner = &fraction};
};

}  // namespace dfsearch
