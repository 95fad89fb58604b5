#pragma once
// `offload: [weights, optimizer]`, or `offload: none`.

#include <optional>

#include "io/config/config_rates.hpp"
#include "io/text/map_reader.hpp"
#include "io/text/offload_names.hpp"

namespace dfsearch {

/// What is offloaded; nothing if the key is not there, or wrong and reported.
template <class Offload>
std::optional<Offload> read_offload(MapReader& reader) {
  const YamlEntry* entry = reader.optional("offload");
  if (!entry) return std::nullopt;
  InputMessages& messages = reader.messages();
  Offload offload;
  const Choices<bool Offload::*> kinds(kOffloads<Offload>.begin(), kOffloads<Offload>.end());
  if (entry->value.type == YamlNode::Type::Sequence) {
    for (const YamlNode& node : entry->value.items) {
      const auto kind = read_choice(item(*entry, node), kinds, messages);
      if (!kind) return std::nullopt;
      if (offload.**kind) messages.add(node.place, entry->key, "stands twice in the list");
      offload.** kind = true;
    }
  } else if (entry->value.type != YamlNode::Type::Scalar || entry->value.scalar != "none") {
    messages.add(entry->value.place, entry->key,
                 "expected none or a list of weights, activations and optimizer, got " +
                     entry->value.description());
    return std::nullopt;
  }
  return offload;
}

}  // namespace dfsearch
