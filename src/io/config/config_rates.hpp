#pragma once
// Rates that depend on the amount of work: `efficiency: [[16 GFLOP, 0.9], [0 FLOP, 0.1]]`.

#include <fmt/format.h>

#include <cstddef>

#include "base/units_text.hpp"
#include "io/schema/read_schema.hpp"
#include "model/machine/rates.hpp"
#include "schema/report.hpp"

namespace dfsearch {

constexpr Type within(Type type, const Interval& limits) {
  type.limits = limits;
  return type;
}
template <class T, const Type* inner>
inline constexpr Type kOptional = [] {
  Type type = TypeOf<std::optional<T>>::type;
  type.inner = inner;
  return type;
}();

template <class Work>
inline constexpr Type kAmount = within(TypeOf<Work>::type, {0, 1e30});
inline constexpr Type kReachedShare = within(TypeOf<double>::type, {1e-9, 1});

/// Pairs of an amount and a share.
template <class Work>
struct TypeOf<EfficiencyCurve<Work>> {
  using Curve = EfficiencyCurve<Work>;
  static constexpr Type step{.form = Form::Pair,
                             .name = "an amount and a share",
                             .inner = &kAmount<Work>,
                             .other = &kReachedShare,
                             .at = [](void* member, std::size_t index) -> void* {
                               auto& own = *static_cast<typename Curve::Step*>(member);
                               return index == 0 ? static_cast<void*>(&own.from) : &own.share;
                             }};
  static constexpr Type type{
      .form = Form::List,
      .name = "pairs of an amount and a share",
      .inner = &step,
      .most = 100,  // more than any curve needs
      .resize = [](void* member,
                   std::size_t size) { static_cast<Curve*>(member)->steps.resize(size); },
      .size = [](const void* member) { return static_cast<const Curve*>(member)->steps.size(); },
      .at = [](void* member, std::size_t index) -> void* {
        return &static_cast<Curve*>(member)->steps[index];
      }};
};

/// Checks that the amounts fall and end at zero.
template <class Work>
void check_curve(void* object, Report& report) {
  const auto& efficiency = *static_cast<const EfficiencyCurve<Work>*>(object);
  const auto& steps = efficiency.steps;
  if (steps.empty()) return report.at({&efficiency}, "expected at least one step, got none");
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].from < steps[i - 1].from) continue;
    return report.inside(&efficiency, i, nullptr,
                         fmt::format("expected amounts that fall, got {} after {}",
                                     to_text(steps[i].from), to_text(steps[i - 1].from)));
  }
  if (steps.back().from > Work{}) {
    report.inside(&efficiency, steps.size() - 1, nullptr,
                  "expected 0 as the last amount, got " + to_text(steps.back().from));
  }
}

/// The key `efficiency` of an engine or a memory.
template <class Work>
const Schema& curve_rows() {
  using Curve = EfficiencyCurve<Work>;
  static constexpr Field kFields[] = {whole("efficiency",
                                            "share of the peak by the work of one kernel",
                                            TypeOf<Curve>::type, {.flags = kRequired})};
  return schema<Curve, kFields>(
      std::is_same_v<Work, Flops> ? "efficiency of an engine" : "efficiency of a memory",
      &check_curve<Work>);
}
template <class Work>
inline constexpr Type kCurve{.form = Form::Object, .schema = &curve_rows<Work>};

}  // namespace dfsearch
