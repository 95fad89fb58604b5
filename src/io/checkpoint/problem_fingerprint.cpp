// Walks the rows of schemas (schema/schema.hpp): the hash includes keys that affect a cost, but no
// default of an absent key, so that adding a key to the schema changes no hash.

#include "io/checkpoint/problem_fingerprint.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "io/config/config_system.hpp"
#include "io/config/config_technology.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/loop_choices.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/objective_rows.hpp"
#include "model/problem_schema.hpp"
#include "technology/chip.hpp"
#include "technology/technology_schema.hpp"

namespace dfsearch {
namespace {

class ValueHash {
 public:
  template <class... T>
  explicit ValueHash(const T&... values) {
    (put(values), ...);
  }

  void put(const Json& value) { hash_.put(value.dump() + '\n'); }
  template <class T>
  void put(const T& value) {
    put(written(value, kNoCost));
  }
  template <class T, std::size_t n>
  void put(const std::array<T, n>& values) {
    for (const T& value : values) put(value);
  }

  operator std::uint64_t() const { return hash_.value(); }  // NOLINT(google-explicit-constructor)

 private:
  Hash hash_;
};

ValueHash hash_of(const Machine& system) {
  ValueHash all(system.chips, system.accelerator, system.price, system.power);
  for (const MemoryTier& tier : system.memory) all.put(tier);
  if (system.memory[0].latency > Seconds{}) all.put(Json(number(system.memory[0].latency)));
  if (system.peaks.stated()) all.put(system.peaks);
  for (const NetworkDimension& dimension : system.network) {
    all.put(DimensionSection{.dimension = dimension, .ports = {}});
  }
  for (const auto& [name, share, bandwidth, latency] : system.levels) {
    all.put(Json{name_of(name), number(share), number(bandwidth), number(latency)});
  }
  return all;
}

ValueHash hash_of(ShardingChoice choice, const std::vector<std::optional<LoopPair>>& pins,
                  int tensor_axes) {
  ValueHash all(choice, pins);
  if (tensor_axes > 1) all.put(Json(tensor_axes));
  return all;
}

}  // namespace

Fingerprint fingerprint_of(const Problem& problem) {
  const auto& [workload, system, execution, equations, objective, sharding, sharding_pins,
               tensor_axes, parallelism] = problem;
  return {{"workload", ValueHash(written_graph(workload, kNoCost))},
          {"system", hash_of(system)},
          {"execution", ValueHash(execution, execution.pins)},
          {"equations", ValueHash(equations)},
          {"objective", ValueHash(objective)},
          {"sharding", hash_of(sharding, sharding_pins, tensor_axes)},
          {"parallelism", ValueHash(parallelism)}};
}

Fingerprint fingerprint_of(const ChipDesign& design) {
  const auto& [technology, budget, given, dimensions, equations] = design;
  ValueHash chip(given, given.levels, given.memory_bandwidth, given.memory_capacity, equations);
  for (const DimensionPorts& ports : dimensions) {
    chip.put(DimensionSection{.dimension = {}, .ports = ports});
  }
  return {{"technology", ValueHash(technology)}, {"budget", ValueHash(budget)}, {"chip", chip}};
}

namespace {

/// The tree as text, the entries of maps in the order of their keys.  Lengths precede contents, so
/// that different trees have different texts.
std::string canonical(const YamlNode& node) {
  switch (node.type) {
    case YamlNode::Type::Null:
      return "~";
    case YamlNode::Type::Scalar:
      return std::to_string(node.scalar.size()) + ':' + node.scalar;
    case YamlNode::Type::Sequence: {
      std::string text = "[" + std::to_string(node.items.size());
      for (const YamlNode& item : node.items) text += ' ' + canonical(item);
      return text;
    }
    case YamlNode::Type::Map:
      break;
  }
  std::vector<std::string> entries;
  for (const YamlEntry& entry : node.entries) {
    entries.push_back(entry.key + '=' + canonical(entry.value));
  }
  std::sort(entries.begin(), entries.end());
  std::string text = "{" + std::to_string(entries.size());
  for (const std::string& entry : entries) text += ' ' + entry;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config) {
  std::vector<std::pair<std::string, std::uint64_t>> sections;
  for (const YamlEntry& section : config.entries) {
    if (section.key == "search") continue;
    sections.emplace_back(section.key, hash_of(canonical(section.value)));
  }
  std::sort(sections.begin(), sections.end());
  return sections;
}

}  // namespace dfsearch
