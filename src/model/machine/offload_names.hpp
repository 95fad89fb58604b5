#pragma once
// Names of the states that can be in a second memory, in configs and in results.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/machine/machine.hpp"
#include "schema/types.hpp"

namespace dfsearch {

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
