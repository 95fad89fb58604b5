#pragma once
// Rates that depend on the amount of work: `efficiency: [[16 GFLOP, 0.9], [0 FLOP, 0.1]]`.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "io/text/map_reader.hpp"
#include "model/machine/rates.hpp"

namespace dfsearch {

/// Two values in a list, if that is what it is.
inline bool is_pair(const YamlNode& node) {
  return node.type == YamlNode::Type::Sequence && node.items.size() == 2;
}

inline YamlEntry item(const YamlEntry& list, const YamlNode& value) {
  return {.key = list.key, .place = value.place, .value = value};
}

/// More steps than any curve needs.
inline constexpr std::size_t kMostSteps = 100;

/// Pairs of an amount and a share, the amounts falling to zero.
template <class Work>
EfficiencyCurve<Work> read_efficiency(MapReader& reader) {
  EfficiencyCurve<Work> curve;
  const YamlEntry* entry = reader.required("efficiency");
  if (!entry) return curve;
  InputMessages& messages = reader.messages();
  const auto& items = entry->value.items;
  if (entry->value.type != YamlNode::Type::Sequence || items.empty() || items.size() > kMostSteps ||
      !std::all_of(items.begin(), items.end(), is_pair)) {
    messages.add(entry->value.place, entry->key,
                 fmt::format("expected a list of 1 to {} pairs of an amount and a share, got {}",
                             kMostSteps, entry->value.description()));
    return curve;
  }
  for (const YamlNode& pair : items) {
    const auto from =
        read_quantity<Work>(item(*entry, pair.items[0]), {Work(0.0), Work(1e30)}, messages);
    const auto share = read_number(item(*entry, pair.items[1]), {1e-9, 1.0}, messages);
    if (!from || !share) return curve;
    if (!curve.steps.empty() && *from >= curve.steps.back().from) {
      messages.add(pair.place, entry->key,
                   fmt::format("expected amounts that fall, got {} after {}", to_text(*from),
                               to_text(curve.steps.back().from)));
      return curve;
    }
    curve.steps.push_back({.from = *from, .share = *share});
  }
  if (curve.steps.back().from > Work{}) {
    messages.add(items.back().place, entry->key,
                 "expected 0 as the last amount, got " + to_text(curve.steps.back().from));
  }
  return curve;
}

}  // namespace dfsearch
