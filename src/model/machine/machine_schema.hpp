#pragma once
// The config rows of machines: parts of the section `system`, `price` and `power`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

// Limits of any machine.  The lower ends keep every time finite.
inline constexpr Interval kBandwidthLimits{1, 1e24};
inline constexpr Interval kSizeLimits{1, 1e24};
inline constexpr Interval kFrequencyLimits{1, 1e18};
inline constexpr Interval kLatencyLimits{0, 1e3};

const Schema& schema_of(Rows<Accelerator>);
const Schema& schema_of(Rows<EnginePeaks>);
const Schema& schema_of(Rows<Peaks>);
const Schema& schema_of(Rows<RateByPeak>);
const Schema& schema_of(Rows<Price>);
const Schema& schema_of(Rows<Power>);
const Schema& schema_of(Rows<FlopEnergies>);
const Schema& schema_of(Rows<EnergyRates>);

inline constexpr std::array<std::pair<std::string_view, bool Offload::*>, 3> kOffloads = {
    {{"weights", &Offload::weights},
     {"activations", &Offload::activations},
     {"optimizer", &Offload::optimizer}}};

/// "weights, optimizer", or "nothing".
inline std::string offload_text(const Offload& offload) {
  std::string text;
  for (const auto& [name, member] : kOffloads) {
    if (offload.*member) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "nothing" : text;
}

/// `[weights, optimizer]`, or `none`.
template <>
struct TypeOf<Offload> {
  static constexpr Type type{
      .form = Form::Words,
      .put =
          [](void* member, std::int64_t index) {
            static_cast<Offload*>(member)->*kOffloads[static_cast<std::size_t>(index)].second =
                true;
          },
      .get =
          [](const void* member) {
            std::int64_t bits = 0;
            for (std::size_t i = 0; i < kOffloads.size(); ++i) {
              const bool on = static_cast<const Offload*>(member)->*kOffloads[i].second;
              if (on) bits |= std::int64_t{1} << i;
            }
            return bits;
          },
      .choices =
          [] {
            std::vector<Choice> choices;
            for (const auto& [name, member] : kOffloads) {
              choices.push_back({name, static_cast<std::int64_t>(choices.size())});
            }
            return choices;
          }};
};

}  // namespace dfsearch
