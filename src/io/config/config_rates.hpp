#pragma once
// Rates that depend on the amount of work: `efficiency: [[16 GFLOP, 0.9], [0 FLOP, 0.1]]`.

#include <fmt/format.h>

#include <cstddef>

#include "base/units_text.hpp"
#include "io/schema/read_schema.hpp"
#include "model/machine/rates.hpp"
#include "schema/report.hpp"

namespace dfsearch {

template <class Work>
inline constexpr Type kAmount = [] {
  Type type = TypeOf<Work>::type;
  type.limits = {0, 1e30};
  return type;
}();
inline constexpr Type kReachedShare = [] {
  Type type = TypeOf<double>::type;
  type.limits = {1e-9, 1};
  return type;
}();

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

/// The key of a part of a chip that reaches a share of its peak.
template <class Work>
struct CurveSection {
  EfficiencyCurve<Work> efficiency;
};

/// Checks that the amounts fall and end at zero.
template <class Work>
void check_curve(void* object, Report& report) {
  const auto& efficiency = static_cast<const CurveSection<Work>*>(object)->efficiency;
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

template <class Work>
const Schema& curve_schema(std::string_view name) {
  static constexpr Field kFields[] = {field<&CurveSection<Work>::efficiency>(
      "efficiency", "share of the peak by the work of one kernel", {.flags = kRequired})};
  return schema<CurveSection<Work>, kFields>(name, &check_curve<Work>);
}
inline const Schema& schema_of(Rows<CurveSection<Flops>>) {
  return curve_schema<Flops>("efficiency of an engine");
}
inline const Schema& schema_of(Rows<CurveSection<Bytes>>) {
  return curve_schema<Bytes>("efficiency of a memory");
}

template <class Work>
EfficiencyCurve<Work> read_efficiency(MapReader& reader) {
  CurveSection<Work> text;
  read_keys(reader, schema_of<CurveSection<Work>>(), &text);
  return std::move(text.efficiency);
}

/// Whether the value is a list of two values.
inline bool is_pair(const YamlNode& node) {
  return node.type == YamlNode::Type::Sequence && node.items.size() == 2;
}

inline YamlEntry item(const YamlEntry& list, const YamlNode& value) {
  return {.key = list.key, .place = value.place, .value = value};
}

}  // namespace dfsearch
