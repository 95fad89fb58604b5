// The section `system` of a config with `equations: calculon`.

#include <fmt/format.h>

#include <algorithm>

#include "io/config/config_calculon.hpp"
#include "io/config/config_rates.hpp"

namespace dfsearch {
namespace {

// What any machine may have.  The lower ends keep every time finite.
constexpr Range<BytesPerSecond> kBandwidth{BytesPerSecond(1.0), BytesPerSecond(1e24)};
constexpr Range<FlopsPerSecond> kPeak{FlopsPerSecond(1.0), FlopsPerSecond(1e24)};
constexpr Range<Bytes> kSize{Bytes(1.0), Bytes(1e24)};
constexpr Range<Seconds> kLatency{Seconds(0.0), Seconds(1e3)};
constexpr Range<double> kShare{1e-9, 1.0};
constexpr std::size_t kMostNetworks = 8;

Engine read_engine(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Engine engine;
  engine.peak = reader.required_quantity("peak", kPeak).value_or(FlopsPerSecond(1.0));
  engine.efficiency = read_efficiency<Flops>(reader);
  reader.finish();
  return engine;
}

void read_tier(MapReader& reader, MemoryTier& tier) {
  tier.capacity = reader.required_quantity("capacity", kSize).value_or(Bytes(1.0));
  tier.bandwidth = reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond(1.0));
  tier.efficiency = read_efficiency<Bytes>(reader);
}

void read_memory(const YamlEntry& section, Machine& machine, InputMessages& messages) {
  MapReader reader(section, messages);
  read_tier(reader, machine.memory[0]);
  if (const YamlEntry* second = reader.optional("second")) {
    MapReader tier(*second, messages);
    read_tier(tier, machine.memory.emplace_back());
    tier.finish();
  }
  reader.finish();
}

MeasuredNetwork::Scale read_scale(MapReader& reader, std::string_view key) {
  const YamlEntry* entry = reader.optional(key);
  if (!entry) return {};
  if (!is_pair(entry->value)) {
    reader.messages().add(entry->value.place, key,
                          "expected a pair of a factor and an offset, like [1.5, -1], got " +
                              entry->value.description());
    return {};
  }
  const auto& pair = entry->value.items;
  // An offset below -1 would make a group of two faster than none.
  const auto factor = read_number(item(*entry, pair[0]), {1e-9, 1e9}, reader.messages());
  const auto offset = read_number(item(*entry, pair[1]), {-1.0, 1e9}, reader.messages());
  return {.factor = factor.value_or(1.0), .offset = offset.value_or(0.0)};
}

NetworkDimension read_network(const YamlNode& node, InputMessages& messages) {
  MapReader reader(node, "networks", node.place, messages);
  NetworkDimension network;
  network.measured.emplace();
  network.degree = reader.required_count("size").value_or(1);
  network.measured->filled = reader.optional_choice("filled", kYesOrNo).value_or(false);
  network.bandwidth =
      reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond(1.0));
  network.measured->efficiency = reader.optional_number("efficiency", kShare).value_or(1.0);
  network.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  network.measured->processor_usage =
      reader.optional_number("processor_usage", {0.0, 0.99}).value_or(0.0);
  // In the order of calculon::Operation.
  network.measured->operations = {read_scale(reader, "p2p"), read_scale(reader, "reduce_scatter"),
                                  read_scale(reader, "all_gather"),
                                  read_scale(reader, "all_reduce")};
  reader.finish();
  return network;
}

}  // namespace

Machine read_calculon_machine(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  Machine machine;
  machine.chips = reader.required_count("chips").value_or(1);
  if (const YamlEntry* part = reader.required("matrix")) {
    machine.matrix = read_engine(*part, messages);
  }
  if (const YamlEntry* part = reader.required("vector")) {
    machine.vector = read_engine(*part, messages);
  }
  if (const YamlEntry* part = reader.required("memory")) read_memory(*part, machine, messages);
  if (const YamlEntry* list = reader.required("networks")) {
    const auto& items = list->value.items;
    if (list->value.type != YamlNode::Type::Sequence || items.empty() ||
        items.size() > kMostNetworks) {
      messages.add(
          list->value.place, list->key,
          fmt::format("expected a list of 1 to {} networks, got {}", kMostNetworks,
                      list->value.type == YamlNode::Type::Sequence ? std::to_string(items.size())
                                                                   : list->value.description()));
    } else {
      for (const YamlNode& node : items) machine.network.push_back(read_network(node, messages));
    }
  }
  reader.finish();
  return machine;
}

}  // namespace dfsearch
