#include "technology/technology_schema.hpp"

#include <fmt/format.h>

#include "base/units_text.hpp"
#include "model/machine/machine_schema.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

// Ranges of the values of a technology, which keep every number of a chip finite.
constexpr Interval kArea{1e-18, 1e12};
constexpr Interval kAreaOrNone{0, 1e12};
constexpr Interval kPower{1e-15, 1e12};
constexpr Interval kPowerOrNone{0, 1e12};
constexpr Interval kEdge{0, 1e9};
constexpr Interval kVoltage{1e-3, 1e3};
constexpr Interval kMargin{0, 1e3};
constexpr Interval kCellArea{8e-18, 8e6};
constexpr Interval kEnergy{8e-21, 8e3};
constexpr Interval kLeakage{0, 8};
constexpr Interval kDensity{1e-6, 1e9};
constexpr Interval kOverhead{0, 0.999};
constexpr Interval kUtilization{1e-9, 1};
// A core has at most as many multiply-add units as a chip may have cores, 2^40.
constexpr Interval kSide{1, 1048576};

/// Type of the least operating voltage; the threshold is read before it.
constexpr Type kMarginType{.form = Form::Quantity,
                           .put_real =
                               [](void* object, double value) {
                                 auto& transistors = *static_cast<Transistors*>(object);
                                 transistors.minimum = transistors.threshold + Volts(value);
                               },
                           .get_real =
                               [](const void* object) {
                                 const auto& held = *static_cast<const Transistors*>(object);
                                 return (held.minimum - held.threshold).in_base_units();
                               },
                           .unit = &units::kVoltage};

void check_voltages(void* object, Report& report) {
  const auto& transistors = *static_cast<const Transistors*>(object);
  if (!report.given(&transistors.voltage) || !report.given(&transistors.frequency)) return;
  if (transistors.voltage <= transistors.threshold) {
    report.at({&transistors.voltage},
              fmt::format("expected more than the threshold, {}, got {}",
                          to_text(transistors.threshold), to_text(transistors.voltage)));
  }
  if (transistors.maximum < transistors.minimum) {
    report.at({&transistors.maximum},
              fmt::format("expected at least threshold + margin, {}, got {}",
                          to_text(transistors.minimum), to_text(transistors.maximum)));
  }
}

void check_areas(void* object, Report& report) {
  const auto& budget = *static_cast<const Budget*>(object);
  if (budget.package >= budget.die) return;
  report.at({&budget.package}, fmt::format("expected at least the area of the die, {}, got {}",
                                           to_text(budget.die), to_text(budget.package)));
}

using Areas = PerComponent<std::optional<Share<Area>>>;
using Powers = PerComponent<std::optional<Share<Watts>>>;
using Edges = PerComponent<std::optional<Share<Length>>>;
constexpr std::string_view kFraction = "a share of the total, or an amount";

const Schema& budget_area() {
  using B = Budget;
  static constexpr Extra kShare{.limits = kAreaOrNone, .preset = "searched"};
  static constexpr Field kFields[] = {
      field<&B::package>("package", "area of the package", {.limits = kArea, .flags = kRequired}),
      field<&B::die>("die", "area of the die", {.limits = kArea, .flags = kRequired}),
      element<0, &B::area, &Areas::of>("core", kFraction, kShare),
      element<1, &B::area, &Areas::of>("registers", kFraction, kShare),
      element<2, &B::area, &Areas::of>("L1", kFraction, kShare),
      element<3, &B::area, &Areas::of>("L2", kFraction, kShare),
      element<4, &B::area, &Areas::of>(
          "memory", "the controllers: a share of the total, or an amount", kShare),
      element<5, &B::area, &Areas::of>("intra", kFraction, kShare),
      element<6, &B::area, &Areas::of>("inter", kFraction, kShare)};
  return schema<B, kFields>("area of a budget", check_areas);
}

const Schema& budget_power() {
  using B = Budget;
  static constexpr Extra kShare{.limits = kPowerOrNone, .preset = "searched"};
  static constexpr Field kFields[] = {
      field<&B::total>("total", "power of a chip", {.limits = kPower, .flags = kRequired}),
      element<0, &B::power, &Powers::of>("core", kFraction, kShare),
      element<1, &B::power, &Powers::of>("registers", kFraction, kShare),
      element<2, &B::power, &Powers::of>("L1", kFraction, kShare),
      element<3, &B::power, &Powers::of>("L2", kFraction, kShare),
      element<4, &B::power, &Powers::of>("memory", kFraction, kShare),
      element<5, &B::power, &Powers::of>("intra", kFraction, kShare),
      element<6, &B::power, &Powers::of>("inter", kFraction, kShare)};
  return schema<B, kFields>("power of a budget");
}

const Schema& budget_edge() {
  using B = Budget;
  static constexpr Extra kShare{.limits = kEdge, .preset = "searched"};
  static constexpr Field kFields[] = {element<4, &B::edge, &Edges::of>("memory", kFraction, kShare),
                                      element<5, &B::edge, &Edges::of>("intra", kFraction, kShare),
                                      element<6, &B::edge, &Edges::of>("inter", kFraction, kShare)};
  return schema<B, kFields>("edge of a budget");
}

constexpr Type kAreaType{.form = Form::Object, .schema = &budget_area};
constexpr Type kPowerType{.form = Form::Object, .schema = &budget_power};
constexpr Type kEdgeType{.form = Form::Object, .schema = &budget_edge};

}  // namespace

const Schema& schema_of(Rows<TechnologyEquations>) {
  using E = TechnologyEquations;
  static constexpr Field kFields[] = {
      field<&E::link_ports>("link_ports", "ports among which the wires of a link are divided"),
      field<&E::budget_sums>("budget_sums", "whether the parts together may exceed the total"),
      field<&E::gemm_tiles>("gemm_tiles", "tiles that a GEMM alone on a chip may have",
                            {.flags = kNoCost}),
      field<&E::voltage_floor>("voltage_floor", "the power at the least voltage")};
  static const Schema kSchema = [] {
    Schema all = schema<E>("equations of chips", kFields);
    all.published = [] {
      static const E kPublished = E::published();
      return static_cast<const void*>(&kPublished);
    };
    return all;
  }();
  return kSchema;
}

const Schema& schema_of(Rows<Transistors>) {
  using T = Transistors;
  static constexpr Field kFields[] = {
      field<&T::frequency>("frequency",
                           "frequency at which the power is known; for a wire, its bits per second",
                           {.limits = kFrequencyLimits, .flags = kRequired}),
      field<&T::voltage>("voltage", "voltage at which the power is known",
                         {.limits = kVoltage, .flags = kRequired}),
      field<&T::threshold>("threshold", "threshold voltage",
                           {.limits = kVoltage, .with = "voltage"}),
      whole("margin", "least operating voltage above the threshold", kMarginType,
            {.limits = kMargin, .with = "voltage"}),
      field<&T::maximum>("maximum_voltage", "greatest operating voltage",
                         {.limits = kVoltage, .preset = "none"})};
  return schema<T, kFields>("transistors", check_voltages);
}

const Schema& schema_of(Rows<CoreTechnology>) {
  using C = CoreTechnology;
  static constexpr Field kFields[] = {
      field<&C::lanes>("lanes", "width of its array", {.limits = kSide, .flags = kRequired}),
      field<&C::stages>("stages", "height of its array", {.limits = kSide, .flags = kRequired}),
      field<&C::bundle>("bundle", "cores that share an L1 and a port to the L2"),
      field<&C::area>("area", "area of one core", {.limits = kArea, .flags = kRequired}),
      field<&C::power>("power",
                       "dynamic power at `frequency` and `voltage`; needed unless "
                       "`accelerator.frequency` is given",
                       {.limits = kPower, .preset = "none"}),
      keys_of<&C::transistors>(),
      field<&C::utilization>("utilization",
                             "share of the peak that is reached, the default of "
                             "`execution.compute_utilization`; without it this key keeps its own "
                             "default, and the chip is reported with 1",
                             {.limits = kUtilization}),
      field<&C::fma>("fma", "width of the multiply-add unit, for the published GEMM only",
                     {.limits = kSide, .flags = kNoCost})};
  return schema<C, kFields>("core of a technology");
}

const Schema& schema_of(Rows<LevelTechnology>) {
  using L = LevelTechnology;
  static constexpr Field kFields[] = {
      field<&L::scope>("scope", "unit that has a level of its own", {.flags = kRequired}),
      field<&L::bank>("bank", "size of a bank of the level",
                      {.limits = kSizeLimits, .flags = kRequired}),
      field<&L::cell_area>("cell_area", "area of the cell of a bit",
                           {.limits = kCellArea, .flags = kRequired}),
      field<&L::overhead>("overhead", "share of the level's area that is periphery",
                          {.limits = kOverhead}),
      field<&L::port_area>("port_area", "area of the crossbar for each pair of a bank and a bundle",
                           {.limits = kAreaOrNone}),
      field<&L::energy>("energy", "energy to move a bit", {.limits = kEnergy, .flags = kRequired}),
      field<&L::leakage>("leakage", "leakage power of a stored bit",
                         {.limits = kLeakage, .flags = kRequired}),
      field<&L::utilization>("utilization", "share of the bandwidth that is reached",
                             {.limits = kUtilization}),
      field<&L::latency>("latency", "latency of one access", {.limits = kLatencyLimits})};
  return schema<L, kFields>("level of a technology");
}

const Schema& schema_of(Rows<MemoryTechnology>) {
  using M = MemoryTechnology;
  static constexpr Field kFields[] = {
      field<&M::stack>("stack", "capacity of a stack", {.limits = kSizeLimits, .flags = kRequired}),
      field<&M::stack_area>("stack_area", "area of a stack in the package",
                            {.limits = kArea, .flags = kRequired}),
      field<&M::controller_area>("controller_area", "area of the controller of a stack on the die",
                                 {.limits = kArea, .flags = kRequired}),
      field<&M::links_per_stack>("links_per_stack", "wires of a stack", {.flags = kRequired}),
      field<&M::links_per_mm>("links_per_mm", "wires that cross a mm of die edge",
                              {.limits = kDensity, .flags = kRequired}),
      keys_of<&M::transistors>(),
      field<&M::energy>("energy", "energy to move a bit at the nominal voltage",
                        {.limits = kEnergy, .flags = kRequired}),
      field<&M::leakage>("leakage", "leakage power of a stored bit",
                         {.limits = kLeakage, .flags = kRequired}),
      field<&M::utilization>("utilization", "share of the bandwidth that is reached",
                             {.limits = kUtilization}),
      field<&M::latency>("latency", "latency of one access", {.limits = kLatencyLimits})};
  return schema<M, kFields>("memory of a technology");
}

const Schema& schema_of(Rows<LinkTechnology>) {
  using L = LinkTechnology;
  static constexpr Field kFields[] = {
      field<&L::area>("area", "area of the driver of a wire on the die",
                      {.limits = kArea, .flags = kRequired}),
      field<&L::links_per_mm>("links_per_mm", "wires that cross a mm of die edge",
                              {.limits = kDensity, .flags = kRequired}),
      keys_of<&L::transistors>(),
      field<&L::energy>("energy", "energy to move a bit at the nominal voltage",
                        {.limits = kEnergy, .flags = kRequired}),
      field<&L::utilization>("utilization", "share of the bandwidth that is reached",
                             {.limits = kUtilization}),
      field<&L::latency>(
          "latency",
          "latency in reports of the chip; messages take that of their network dimension",
          {.limits = kLatencyLimits})};
  return schema<L, kFields>("link of a technology");
}

const Schema& schema_of(Rows<Technology>) {
  using T = Technology;
  static constexpr Extra kPart{.flags = kFromFile};
  static constexpr Field kFields[] = {
      field<&T::core>("core", "", {.flags = kRequired | kFromFile}),
      element<0, &T::levels>("registers", "", kPart),
      element<1, &T::levels>("L1", "", kPart),
      element<2, &T::levels>("L2", "", kPart),
      field<&T::memory>("memory", "stacks beside the die", kPart),
      element<0, &T::links>("intra", "links inside the package", kPart),
      element<1, &T::links>("inter", "links out of the package", kPart)};
  return schema<T, kFields>("technology");
}

const Schema& schema_of(Rows<Budget>) {
  static constexpr Field kFields[] = {
      whole("area", "areas of die and package, and their division", kAreaType,
            {.flags = kRequired}),
      whole("power", "power of a chip, and its division", kPowerType, {.flags = kRequired}),
      whole("edge", "division of the edge of the die", kEdgeType, {.preset = "searched"}),
      field<&Budget::step>("step", "grid of the shares that are searched", {.limits = {1e-4, 1}})};
  return schema<Budget, kFields>("budget");
}

}  // namespace dfsearch
