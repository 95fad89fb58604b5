// The sections `system`, `price`, `power` and `parallelism`.

#include "io/config/config_system.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/config/config_technology.hpp"

namespace dfsearch {
namespace {

// What any machine may have.  The lower ends keep every time finite.
constexpr Range<BytesPerSecond> kBandwidth{BytesPerSecond(1.0), BytesPerSecond(1e24)};
constexpr Range<Bytes> kSize{Bytes(1.0), Bytes(1e24)};
constexpr Range<Hertz> kFrequency{Hertz(1.0), Hertz(1e18)};
constexpr Range<Seconds> kLatency{Seconds(0.0), Seconds(1e3)};
constexpr Range<double> kUnitPrice{0.0, 1e24};

// Of multiply-add units; more would leave 64-bit integers: 2^62.
constexpr double kMostUnits = 4611686018427387904.0;
constexpr std::size_t kMostDimensions = 3;
constexpr std::size_t kMostDegrees = 10'000;  // no count has more divisors
constexpr BytesPerSecond kGigabytePerSecond{1e9};

/// More multiply-add units than 64-bit integers count.
void check_units(const Accelerator& accelerator, const Place& place, InputMessages& messages) {
  const double units = static_cast<double>(accelerator.cores) *
                       static_cast<double>(accelerator.lanes) *
                       static_cast<double>(accelerator.stages);
  if (units < kMostUnits) return;
  messages.add(place, "accelerator",
               fmt::format("{} cores x {} lanes x {} stages are too many, expected fewer than "
                           "2^62",
                           accelerator.cores, accelerator.lanes, accelerator.stages));
}

/// `bundle` is how many cores share a memory of scope bundle.
Accelerator read_accelerator(const YamlEntry& section, std::int64_t& bundle,
                             InputMessages& messages) {
  MapReader reader(section, messages);
  Accelerator accelerator;
  accelerator.cores = reader.required_count("cores").value_or(1);
  accelerator.lanes = reader.required_count("lanes").value_or(1);
  accelerator.stages = reader.required_count("stages").value_or(1);
  accelerator.frequency = reader.required_quantity("frequency", kFrequency).value_or(Hertz());
  accelerator.sram = reader.required_quantity("sram", kSize).value_or(Bytes());
  bundle = reader.optional_count("bundle").value_or(1);
  reader.finish();
  check_units(accelerator, reader.place(), messages);
  return accelerator;
}

/// What is known of a chip that is derived from a technology.
void read_given_accelerator(const YamlEntry& section, GivenValues& given, InputMessages& messages) {
  MapReader reader(section, messages);
  given.cores = reader.optional_count("cores");
  given.frequency = reader.optional_quantity("frequency", kFrequency);
  given.sram = reader.optional_quantity("sram", kSize);
  reader.finish();
}

SecondMemory read_second_memory(const YamlEntry& section, InputMessages& messages) {
  MapReader reader(section, messages);
  SecondMemory second;
  second.bandwidth = reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond());
  second.capacity = reader.required_quantity("capacity", kSize).value_or(Bytes());
  reader.finish();
  return second;
}

void check_tiers(MapReader& reader, const Memory& memory, bool is_derived,
                 const YamlEntry& second) {
  const YamlEntry* capacity = reader.optional("capacity");
  if (!capacity && !is_derived) {
    reader.messages().add(second.place, "second",
                          "a second tier needs the capacity of the first, which is unlimited");
  }
  if (memory.bandwidth > BytesPerSecond{} && memory.second->bandwidth > memory.bandwidth) {
    const YamlEntry* bandwidth = second.value.find("bandwidth");
    reader.messages().add(
        place_of_conflict({bandwidth, reader.optional("bandwidth")}), "bandwidth",
        fmt::format("expected at most that of the first tier, {}, got {}",
                    to_text(memory.bandwidth), to_text(memory.second->bandwidth)));
  }
}

Memory read_memory(const YamlEntry& section, bool is_derived, InputMessages& messages) {
  MapReader reader(section, messages);
  Memory memory;
  memory.bandwidth = (is_derived ? reader.optional_quantity("bandwidth", kBandwidth)
                                 : reader.required_quantity("bandwidth", kBandwidth))
                         .value_or(BytesPerSecond());
  memory.capacity = reader.optional_quantity("capacity", kSize).value_or(Bytes::infinity());
  if (const YamlEntry* second = reader.optional("second")) {
    memory.second = read_second_memory(*second, messages);
    check_tiers(reader, memory, is_derived, *second);
  }
  reader.finish();
  return memory;
}

/// Without a technology all dimensions have a bandwidth of their own.
NetworkDimension read_dimension(const YamlNode& item, const Technology* technology,
                                DimensionPorts& ports, InputMessages& messages) {
  MapReader reader(item, "network", item.place, messages);
  NetworkDimension dimension;
  dimension.topology =
      reader
          .required_choice("topology",
                           named({Topology::Ring, Topology::FullyConnected, Topology::Switch}))
          .value_or(Topology::Ring);
  dimension.degree = reader.optional_count("degree");
  dimension.strategy = reader.optional_choice(
      "strategy", named({Strategy::Tensor, Strategy::Pipeline, Strategy::Data}));
  const YamlEntry* link = reader.optional("link");
  std::optional<LinkKind> kind = reader.optional_choice<LinkKind>(
      "link", {{"intra", LinkKind::Intra}, {"inter", LinkKind::Inter}});
  if (link && !technology) {
    messages.add(link->place, "link", "needs a 'technology' of the system, expected 'bandwidth'");
    kind.reset();
  }
  ports.ports = reader.optional_count("ports");
  const YamlEntry* bandwidth = reader.optional("bandwidth");
  if (bandwidth || !link) {
    dimension.bandwidth =
        reader.required_quantity("bandwidth", kBandwidth).value_or(BytesPerSecond());
  } else {
    ports.link = kind;
  }
  dimension.latency = reader.optional_quantity("latency", kLatency).value_or(Seconds());
  reader.finish();
  return dimension;
}

/// The dimensions, and in `ports` how they are connected to the links of a chip.
std::vector<NetworkDimension> read_network(const YamlEntry& section, const Technology* technology,
                                           std::vector<DimensionPorts>& ports,
                                           InputMessages& messages) {
  std::vector<NetworkDimension> network;
  if (section.value.type != YamlNode::Type::Sequence) {
    messages.add(
        section.value.place, section.key,
        "expected a list of dimensions, innermost first, got " + section.value.description());
    return network;
  }
  if (section.value.items.size() > kMostDimensions) {
    messages.add(section.value.place, section.key,
                 fmt::format("expected at most {} dimensions, got {}", kMostDimensions,
                             section.value.items.size()));
    return network;
  }
  for (const YamlNode& item : section.value.items) {
    network.push_back(read_dimension(item, technology, ports.emplace_back(), messages));
  }
  return network;
}

/// The network, or whichever override made the product wrong.
Place place_of_degrees(const YamlEntry& chips, const YamlEntry* network, const Place& system) {
  if (chips.value.place.is_override()) return chips.value.place;
  if (!network) return system;
  for (const YamlNode& item : network->value.items) {
    const YamlEntry* degree = item.find("degree");
    if (degree && degree->value.place.is_override()) return degree->value.place;
  }
  return network->value.place;
}

/// `copies` of the workload have a network each.
void check_degrees(const System& system, std::int64_t copies, const Place& place,
                   InputMessages& messages) {
  const std::int64_t chips = system.chips / copies;
  const std::string all = copies == 1 ? "the number of chips" : "the chips of a copy";
  std::string product_text;
  double product = 1.0;  // three degrees of up to 2^40 leave 64 bits
  std::size_t given = 0;
  for (const NetworkDimension& dimension : system.network) {
    if (!dimension.degree) continue;
    ++given;
    product_text += fmt::format("{}{}", product_text.empty() ? "" : " * ", *dimension.degree);
    product *= static_cast<double>(*dimension.degree);
  }
  if (given > 1) product_text += " = " + to_exact_text(product);
  if (given < system.network.size()) {
    if (std::fmod(static_cast<double>(chips), product) == 0.0) return;
    messages.add(place, "network",
                 fmt::format("the product of the degrees given is {}, expected a divisor of {}, {}",
                             product_text, all, chips));
    return;
  }
  if (product == static_cast<double>(chips)) return;
  messages.add(place, "network",
               system.network.empty()
                   ? fmt::format("{} chips need a network", chips)
                   : fmt::format("the product of the degrees is {}, expected {}, {}", product_text,
                                 all, chips));
}

/// A chip whose inside is written out.
void read_known_chip(MapReader& reader, System& system, InputMessages& messages) {
  std::int64_t bundle = 1;
  if (const YamlEntry* part = reader.required("accelerator")) {
    system.accelerator = read_accelerator(*part, bundle, messages);
  }
  if (const YamlEntry* part = reader.required("memory")) {
    system.memory = read_memory(*part, false, messages);
  }
  if (const YamlEntry* levels = reader.optional("levels")) {
    system.levels = read_levels(*levels, system.accelerator.cores, bundle, messages);
  }
  if (const YamlEntry* budget = reader.optional("budget")) {
    messages.add(budget->place, "budget", "needs a 'technology' to be spent on");
  }
}

/// A chip that is derived; what is known of it goes before, and into `memory`.
ChipDesign read_design(MapReader& reader, const YamlEntry& technology, Memory& memory,
                       InputMessages& messages) {
  ChipDesign design;
  if (const YamlEntry* part = reader.optional("accelerator")) {
    read_given_accelerator(*part, design.given, messages);
  }
  design.technology = read_technology(technology, design.given.frequency.has_value(), messages);
  if (const YamlEntry* part = reader.optional("memory")) {
    memory = read_memory(*part, true, messages);
    if (part->value.find("bandwidth")) design.given.memory_bandwidth = memory.bandwidth;
    if (part->value.find("capacity")) design.given.memory_capacity = memory.capacity;
  }
  if (const YamlEntry* levels = reader.optional("levels")) {
    design.given.levels = read_given_levels(*levels, design.technology, messages);
  }
  if (const YamlEntry* budget = reader.required("budget", "it goes with 'technology'")) {
    design.budget = read_budget(*budget, design.technology, messages);
  }
  return design;
}

/// Dollars or watts for every GB/s.
template <class Amount>
auto per_bandwidth(std::optional<double> number) {
  return Amount(number.value_or(0.0)) / kGigabytePerSecond;
}

/// A number for every dimension, or one for all.
template <class Amount>
auto read_links(const YamlEntry* entry, std::size_t dimensions, InputMessages& messages) {
  std::vector<decltype(per_bandwidth<Amount>(0.0))> links(dimensions);
  if (!entry) return links;
  if (entry->value.type != YamlNode::Type::Sequence) {
    const std::optional<double> number = read_number(*entry, kUnitPrice, messages);
    links.assign(dimensions, per_bandwidth<Amount>(number));
    return links;
  }
  const std::vector<YamlNode>& items = entry->value.items;
  if (items.size() != dimensions) {
    messages.add(entry->value.place, entry->key,
                 fmt::format("expected a number, or a list of one for each of the {} dimensions of "
                             "the network, got {}",
                             dimensions, items.size()));
    return links;
  }
  for (std::size_t i = 0; i < dimensions; ++i) {
    const YamlEntry item{.key = entry->key, .place = items[i].place, .value = items[i]};
    links[i] = per_bandwidth<Amount>(read_number(item, kUnitPrice, messages));
  }
  return links;
}

/// Price and power have the same keys.
template <class Amount, class Units>
void read_units(const YamlEntry& section, std::size_t dimensions, Units& units,
                InputMessages& messages) {
  MapReader reader(section, messages);
  units.accelerator = Amount(reader.optional_number("accelerator", kUnitPrice).value_or(0.0));
  units.memory = per_bandwidth<Amount>(reader.optional_number("memory", kUnitPrice));
  units.link = read_links<Amount>(reader.optional("link"), dimensions, messages);
  units.switch_port = per_bandwidth<Amount>(reader.optional_number("switch", kUnitPrice));
  reader.finish();
}

/// How many chips the degrees that are given connect.
std::int64_t members_of(const std::vector<NetworkDimension>& network) {
  double members = 1.0;
  for (const NetworkDimension& dimension : network) {
    members *= static_cast<double>(dimension.degree.value_or(1));
  }
  return static_cast<std::int64_t>(std::min(members, static_cast<double>(kLargestCount)));
}

}  // namespace

std::optional<SystemText> read_system(const YamlEntry& section, std::optional<std::int64_t> copies,
                                      SystemUse use, InputMessages& messages) {
  const std::size_t before = messages.count();
  MapReader reader(section, messages);
  SystemText text;
  System& system = text.system;
  const bool whole = use == SystemUse::Whole;
  system.chips =
      (whole ? reader.required_count("chips") : reader.optional_count("chips")).value_or(1);
  const YamlEntry* technology = reader.optional("technology");
  if (technology) {
    text.design = read_design(reader, *technology, system.memory, messages);
  } else {
    read_known_chip(reader, system, messages);
  }
  std::vector<DimensionPorts> ports;
  const YamlEntry* network = reader.optional("network");
  if (network) {
    system.network =
        read_network(*network, text.design ? &text.design->technology : nullptr, ports, messages);
  }
  reader.finish();
  if (!whole && !reader.optional("chips")) system.chips = members_of(system.network);
  if (text.design) {
    text.design->dimensions = ports;
    if (messages.count() == before) check_design(*text.design, system, *technology, messages);
  }
  if (messages.count() == before && copies) {
    const YamlEntry& chips = *reader.optional("chips");
    if (system.chips % *copies != 0) {
      messages.add(chips.value.place, "chips",
                   fmt::format("expected a multiple of the copies of the workload, {}, got {}",
                               *copies, system.chips));
    } else {
      check_degrees(system, *copies, place_of_degrees(chips, network, reader.place()), messages);
    }
  }
  if (messages.count() != before) return std::nullopt;
  system.price.link.resize(system.network.size());
  system.power.link.resize(system.network.size());
  return text;
}

void read_price(const YamlEntry& section, System& system, InputMessages& messages) {
  read_units<Dollars>(section, system.network.size(), system.price, messages);
}

void read_power(const YamlEntry& section, System& system, InputMessages& messages) {
  read_units<Watts>(section, system.network.size(), system.power, messages);
}

void settle_chip(const ChipDesign& design, const Chip& chip, const YamlEntry& section,
                 System& system, InputMessages& messages) {
  put_into(design, chip, system);
  const YamlEntry* technology = section.value.find("technology");
  check_units(system.accelerator, technology->place, messages);
  if (!system.memory.second) return;
  if (system.memory.second->bandwidth > system.memory.bandwidth) {
    messages.add(
        technology->place, "memory",
        fmt::format("the second tier has {}, expected at most that of the first, which is "
                    "derived: {}",
                    to_text(system.memory.second->bandwidth), to_text(system.memory.bandwidth)));
  }
}

DegreeChoice read_degrees(const YamlEntry& entry, InputMessages& messages) {
  DegreeChoice choice;
  if (entry.value.items.size() > kMostDegrees) {
    messages.add(
        entry.value.place, entry.key,
        fmt::format("expected at most {} degrees, got {}", kMostDegrees, entry.value.items.size()));
    return choice;
  }
  if (entry.value.type == YamlNode::Type::Sequence) {
    for (const YamlNode& item : entry.value.items) {
      const YamlEntry degree{.key = entry.key, .place = item.place, .value = item};
      if (const auto value = read_count(degree, {}, messages)) choice.values.push_back(*value);
    }
    if (entry.value.items.empty()) {
      messages.add(entry.value.place, entry.key, "expected at least one degree, got none");
    }
    return choice;
  }
  const std::size_t dots = entry.value.scalar.find("..");
  if (entry.value.type != YamlNode::Type::Scalar || dots == std::string::npos) {
    if (const auto value = read_count(entry, {}, messages)) choice.values.push_back(*value);
    return choice;
  }
  const auto end = [&](const std::string& text, std::int64_t open) {
    YamlEntry bound = entry;
    bound.value.scalar = text;
    return text.empty() ? open : read_count(bound, {}, messages).value_or(open);
  };
  choice.least = end(entry.value.scalar.substr(0, dots), 1);
  choice.most = end(entry.value.scalar.substr(dots + 2), kLargestCount);
  if (choice.least > choice.most) {
    messages.add(
        entry.value.place, entry.key,
        fmt::format("expected a range like '2..8', got {}", in_quotes(entry.value.scalar)));
  }
  return choice;
}

std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages) {
  std::array<DegreeChoice, 3> choices;
  MapReader reader(section, messages);
  for (const Strategy strategy : {Strategy::Tensor, Strategy::Pipeline, Strategy::Data}) {
    if (const YamlEntry* entry = reader.optional(name_of(strategy))) {
      choices[static_cast<std::size_t>(strategy)] = read_degrees(*entry, messages);
    }
  }
  reader.finish();
  return choices;
}

}  // namespace dfsearch
