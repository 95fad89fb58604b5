// The sections `system`, `price`, `power` and `parallelism`.

#include "io/config/config_system.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/config/config_technology.hpp"
#include "io/schema/read_schema.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/names.hpp"
#include "model/problem_schema.hpp"
#include "model/training/plan.hpp"
#include "technology/names.hpp"

namespace dfsearch {
namespace {

// Of multiply-add units; more would leave 64-bit integers: 2^62.
constexpr double kMostUnits = 4611686018427387904.0;
// Ways to use the network, all of which are made one by one, and to divide it among the roles of
// a plan, of which only those of one parallelism at a time are.
constexpr double kMostNetworks = 1e7;
constexpr double kMostDivisions = 1e10;

constexpr Interval kSideOfMesh{1, 1024};

struct KnownSystem {};
struct DerivedSystem {};
/// Beside those that a dimension has by itself.
enum class MeshTopology : std::uint8_t { Mesh, Torus2d };
constexpr std::int64_t kFirstMesh = kTopologies.size();
constexpr Type kJoined{
    .form = Form::Choice,
    .put =
        [](void* object, std::int64_t value) {
          auto& dimension = static_cast<DimensionText*>(object)->dimension;
          if (value < kFirstMesh) {
            dimension.topology = static_cast<Topology>(value);
          } else {
            dimension.mesh.emplace().closed =
                value - kFirstMesh == static_cast<std::int64_t>(MeshTopology::Torus2d);
          }
        },
    .get = [](const void* object) -> std::int64_t {
      const auto& dimension = static_cast<const DimensionText*>(object)->dimension;
      if (!dimension.mesh) return static_cast<std::int64_t>(dimension.topology);
      return kFirstMesh + static_cast<std::int64_t>(dimension.mesh->closed ? MeshTopology::Torus2d
                                                                           : MeshTopology::Mesh);
    },
    .choices =
        [] {
          std::vector<Choice> choices = choices_of<Topology>();
          choices.push_back({"mesh", kFirstMesh});
          choices.push_back({"torus2d", kFirstMesh + 1});
          return choices;
        }};
constexpr Type kNetwork = list_of(TypeOf<DimensionText>::type);

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

Accelerator read_accelerator(const YamlEntry& section, std::int64_t& bundle,
                             InputMessages& messages) {
  AcceleratorText text;
  MapReader reader(section, messages);
  read_object(reader, text);
  bundle = text.bundle;
  check_units(text.accelerator, reader.place(), messages);
  return text.accelerator;
}

void check_tiers(MapReader& reader, const MemoryText& memory, bool is_derived,
                 const YamlEntry& second) {
  const YamlEntry* capacity = reader.optional("capacity");
  if (!capacity && !is_derived) {
    reader.messages().add(second.place, "second",
                          "a second tier needs the capacity of the first, which is unlimited");
  }
  const BytesPerSecond first = memory.first.bandwidth;
  if (first > BytesPerSecond{} && memory.second->bandwidth > first) {
    const YamlEntry* bandwidth = second.value.find("bandwidth");
    reader.messages().add(place_of_conflict({bandwidth, reader.optional("bandwidth")}), "bandwidth",
                          fmt::format("expected at most that of the first tier, {}, got {}",
                                      to_text(first), to_text(memory.second->bandwidth)));
  }
}

MemoryText read_memory(const YamlEntry& section, bool is_derived, InputMessages& messages) {
  MapReader reader(section, messages);
  MemoryText memory;
  read_keys(reader, is_derived ? schema_of<GivenMemory>() : schema_of<MemoryText>(), &memory);
  if (memory.second) check_tiers(reader, memory, is_derived, *reader.optional("second"));
  reader.finish();
  return memory;
}

/// The chips of a mesh are those of its sides.
void settle_mesh(MapReader& reader, DimensionText& text) {
  std::optional<Mesh>& mesh = text.dimension.mesh;
  for (const char* key : {"width", "height", "sharing"}) {
    const YamlEntry* entry = reader.optional(key);
    if (entry && !mesh) {
      reader.messages().add(entry->place, key, "only a mesh or torus2d has it, expected none");
    }
  }
  if (!mesh) return;
  if (!text.width || !text.height) {
    reader.messages().add(reader.place(), "network", "a mesh needs 'width' and 'height'");
    return;
  }
  *mesh = {.width = *text.width,
           .height = *text.height,
           .closed = mesh->closed,
           .sharing = text.sharing.value_or(MeshSharing::Own)};
  const YamlEntry* degree = reader.optional("degree");
  if (degree && text.dimension.degree && *text.dimension.degree != mesh->chips()) {
    reader.messages().add(
        degree->value.place, "degree",
        fmt::format("expected width * height = {}, got {}", mesh->chips(), *text.dimension.degree));
  }
  text.dimension.degree = mesh->chips();
}

/// Without a technology all dimensions have a bandwidth of their own.
DimensionText read_dimension(const YamlNode& item, const Technology* technology,
                             InputMessages& messages) {
  MapReader reader(item, "network", item.place, messages);
  DimensionText text;
  read_object(reader, text);
  const YamlEntry* link = reader.optional("link");
  if (link && !technology) {
    messages.add(link->place, "link", "needs a 'technology' of the system, expected 'bandwidth'");
  }
  if (reader.has("bandwidth")) text.ports.link.reset();
  settle_mesh(reader, text);
  return text;
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
  for (const YamlNode& item : section.value.items) {
    const DimensionText text = read_dimension(item, technology, messages);
    network.push_back(text.dimension);
    ports.push_back(text.ports);
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
void check_degrees(const Machine& system, std::int64_t copies, const Place& place,
                   InputMessages& messages) {
  const std::int64_t chips = system.chips / copies;
  const std::string all = copies == 1 ? "the number of chips" : "the chips of a copy";
  std::string product_text;
  double product = 1.0;  // degrees of up to 2^40 leave 64 bits
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
void read_known_chip(MapReader& reader, Machine& system, InputMessages& messages) {
  std::int64_t bundle = 1;
  if (const YamlEntry* part = reader.required("accelerator")) {
    system.accelerator = read_accelerator(*part, bundle, messages);
  }
  if (const YamlEntry* part = reader.required("memory")) {
    system.memory = read_memory(*part, false, messages).tiers();
  }
  if (const YamlEntry* levels = reader.optional("levels")) {
    system.levels = read_levels(*levels, system.accelerator.cores, bundle, messages);
  }
  if (const YamlEntry* budget = reader.optional("budget")) {
    messages.add(budget->place, "budget", "needs a 'technology' to be spent on");
  }
}

/// A chip that is derived; what is known of it goes before, and into `memory`.
ChipDesign read_design(MapReader& reader, const YamlEntry& technology,
                       std::vector<MemoryTier>& memory, InputMessages& messages) {
  ChipDesign design;
  if (const YamlEntry* part = reader.optional("accelerator")) {
    read_object(*part, design.given, messages);
  }
  design.technology = read_technology(technology, design.given.frequency.has_value(), messages);
  if (const YamlEntry* part = reader.optional("memory")) {
    memory = read_memory(*part, true, messages).tiers();
    if (part->value.find("bandwidth")) design.given.memory_bandwidth = memory[0].bandwidth;
    if (part->value.find("capacity")) design.given.memory_capacity = memory[0].capacity;
  }
  if (const YamlEntry* levels = reader.optional("levels")) {
    design.given.levels = read_given_levels(*levels, design.technology, messages);
  }
  if (const YamlEntry* budget = reader.required("budget", "it goes with 'technology'")) {
    design.budget = read_budget(*budget, design.technology, messages);
  }
  return design;
}

/// Ways to write a number as a product of so many factors, in their order.
double products(std::int64_t number, std::size_t factors) {
  double ways = 1.0;
  const auto spread = [&](int exponent) {
    for (int i = 1; i <= exponent; ++i) ways *= (static_cast<double>(factors) - 1.0 + i) / i;
  };
  for (std::int64_t p = 2; p <= number / p; ++p) {
    int exponent = 0;
    for (; number % p == 0; number /= p) ++exponent;
    spread(exponent);
  }
  if (number > 1) spread(1);
  return ways;
}

void check_ways(double ways, double most, const YamlEntry& section, const char* given,
                InputMessages& messages) {
  if (ways <= most) return;
  messages.add(section.value.find("network")->value.place, "network",
               fmt::format("{:.2g} ways to use it are too many, expected at most {:g}: give {} of "
                           "more dimensions",
                           ways, most, given));
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
  Machine& system = text.system;
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

void refuse_meshes(const Machine& machine, const YamlEntry& section, InputMessages& messages) {
  const YamlEntry* network = section.value.find("network");
  for (std::size_t d = 0; d < machine.network.size(); ++d) {
    if (!machine.network[d].mesh) continue;
    messages.add(network->value.items[d].find("topology")->value.place, "topology",
                 "only plans of training without a stack place roles on a mesh, expected ring, "
                 "fully_connected or switch");
  }
}

void check_networks(const Machine& machine, std::int64_t chips, const YamlEntry& section,
                    InputMessages& messages) {
  double ways = 1.0;
  std::size_t open = 0;
  for (const NetworkDimension& dimension : machine.network) {
    if (!dimension.strategy) ways *= 3.0;
    if (dimension.degree) {
      chips /= *dimension.degree;
    } else {
      ++open;
    }
  }
  check_ways(ways * products(chips, open), kMostNetworks, section, "the degree or strategy",
             messages);
}

void check_divisions(const Machine& machine, const std::vector<bool>& divided,
                     const YamlEntry& section, InputMessages& messages) {
  double ways = 1.0;
  for (std::size_t d = 0; d < machine.network.size(); ++d) {
    if (divided[d]) ways *= products(*machine.network[d].degree, training::kRoles.size());
  }
  check_ways(ways, kMostDivisions, section, "the strategy", messages);
}

namespace {

/// What a polynomial gives for the chips of the system.
template <class Units>
void settle_rate(const YamlEntry& section, const Machine& system, Units& units,
                 InputMessages& messages) {
  if (!units.by_peak || units.by_peak->polynomial.empty()) return;
  const Place& place = section.value.find("accelerator")->value.place;
  if (!(system.peak() > FlopsPerSecond{})) {
    messages.add(place, "accelerator",
                 "the peak of a chip of a technology is not known, expected "
                 "a number");
    return;
  }
  const double rate = units.by_peak->at(system.peak());
  using Amount = decltype(units.accelerator);
  if (rate >= 0.0) {
    units.accelerator = Amount(rate);
  } else {
    messages.add(place, "accelerator",
                 fmt::format("the polynomial is {:.4g} at {}, expected at least 0", rate,
                             to_text(system.peak())));
  }
}

}  // namespace

void read_price(const YamlEntry& section, Machine& system, InputMessages& messages) {
  read_object(section, system.price, messages);
  settle_rate(section, system, system.price, messages);
}

void read_power(const YamlEntry& section, Machine& system, InputMessages& messages) {
  read_object(section, system.power, messages);
  settle_rate(section, system, system.power, messages);
}

void settle_chip(const ChipDesign& design, const Chip& chip, const YamlEntry& section,
                 Machine& system, InputMessages& messages) {
  put_into(design, chip, system);
  const YamlEntry* technology = section.value.find("technology");
  check_units(system.accelerator, technology->place, messages);
  const MemoryTier* second = system.second_memory();
  if (second && second->bandwidth > system.memory[0].bandwidth) {
    messages.add(technology->place, "memory",
                 fmt::format("the second tier has {}, expected at most that of the first, which is "
                             "derived: {}",
                             to_text(second->bandwidth), to_text(system.memory[0].bandwidth)));
  }
}

std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages) {
  ParallelismText text;
  read_object(section, text, messages);
  return text.degrees;
}

template <>
const Schema& schema_of<AcceleratorText>() {
  static constexpr Field kFields[] = {
      keys_of<&AcceleratorText::accelerator>(),
      field<&AcceleratorText::bundle>("bundle",
                                      "cores that share a memory of a level of scope `bundle`")};
  static const Schema kSchema = schema<AcceleratorText>("accelerator", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<GivenValues>() {
  using G = GivenValues;
  static constexpr Field kFields[] = {
      field<&G::cores>("cores", "of a chip", {.preset = "derived"}),
      field<&G::frequency>("frequency", "of a chip",
                           {.limits = kFrequencyLimits, .preset = "derived"}),
      field<&G::sram>("sram", "of a chip", {.limits = kSizeLimits, .preset = "derived"})};
  static const Schema kSchema = schema<G>("given accelerator", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<MemoryTier>() {
  static constexpr Field kFields[] = {
      field<&MemoryTier::bandwidth>("bandwidth", "at most that of the first tier",
                                    {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&MemoryTier::capacity>("capacity", "of a chip",
                                   {.limits = kSizeLimits, .flags = kRequired})};
  static const Schema kSchema = schema<MemoryTier>("second memory", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<MemoryText>() {
  using M = MemoryText;
  static constexpr Field kFields[] = {
      field<&M::first, &MemoryTier::bandwidth>("bandwidth", "of a chip",
                                               {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&M::first, &MemoryTier::capacity>("capacity", "of a chip",
                                              {.limits = kSizeLimits, .preset = "unlimited"}),
      field<&M::second>("second",
                        "a slower tier behind a limited first one; once more is held than that "
                        "has, traffic goes to both in proportion to their capacities")};
  static const Schema kSchema = schema<M>("memory", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<GivenMemory>() {
  using M = MemoryText;
  static constexpr Field kFields[] = {
      field<&M::first, &MemoryTier::bandwidth>("bandwidth", "of a chip",
                                               {.limits = kBandwidthLimits, .preset = "derived"}),
      field<&M::first, &MemoryTier::capacity>("capacity", "of a chip",
                                              {.limits = kSizeLimits, .preset = "derived"}),
      field<&M::second>("second", "a slower tier behind the first")};
  static const Schema kSchema = schema<M>("given memory", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<DimensionText>() {
  using D = DimensionText;
  static constexpr Field kFields[] = {
      whole("topology",
            "how its members are joined; on a `mesh` or `torus2d` a plan of training places them",
            kJoined, {.flags = kRequired}),
      field<&D::width>("width", "of a mesh, in chips", {.limits = kSideOfMesh, .preset = "none"}),
      field<&D::height>("height", "of a mesh, in chips", {.limits = kSideOfMesh, .preset = "none"}),
      field<&D::sharing>(
          "sharing",
          "whose messages share a link of a mesh: those of one role, as roles do not "
          "talk at once, or of all",
          {.preset = "own"}),
      field<&D::dimension, &NetworkDimension::degree>(
          "degree",
          "members; the product over dimensions is `chips`, or the chips of one of the workload's "
          "`copies`",
          {.preset = "searched"}),
      field<&D::dimension, &NetworkDimension::strategy>(
          "strategy", "what the dimension serves; several may serve one", {.preset = "searched"}),
      field<&D::ports, &DimensionPorts::link>("link",
                                              "links of the `technology` in place of a bandwidth"),
      field<&D::ports, &DimensionPorts::ports>("ports", "of a chip, for this dimension",
                                               {.preset = "as the topology has"}),
      field<&D::dimension, &NetworkDimension::bandwidth>(
          "bandwidth", "of one link", {.limits = kBandwidthLimits, .unless = "link"}),
      field<&D::dimension, &NetworkDimension::latency>(
          "latency",
          "of one message over one link; which exchanges pay it is the switch `latency` of "
          "`equations`",
          {.limits = kLatencyLimits})};
  static const Schema kSchema = schema<D>("dimension", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<ParallelismText>() {
  using P = ParallelismText;
  static constexpr Extra kAnyDegree{.preset = "any"};
  static constexpr Field kFields[] = {
      element<0, &P::degrees>("tensor", "degrees that the search may choose", kAnyDegree),
      element<1, &P::degrees>("pipeline", "degrees that the search may choose", kAnyDegree),
      element<2, &P::degrees>("data", "degrees that the search may choose", kAnyDegree)};
  static const Schema kSchema = schema<P>("parallelism", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<KnownSystem>() {
  static constexpr Field kFields[] = {
      by_hand("chips", "of the machine", TypeOf<std::int64_t>::type, {.flags = kRequired}),
      by_hand("accelerator", "a chip", TypeOf<AcceleratorText>::type, {.flags = kRequired}),
      by_hand("memory", "of a chip", TypeOf<MemoryText>::type, {.flags = kRequired}),
      by_hand("levels", "on-chip memories, for `execution.levels`", TypeOf<LevelsText>::type,
              {.preset = "none"}),
      by_hand("network", "dimensions, innermost first", kNetwork,
              {.preset = "none, for one chip"})};
  static const Schema kSchema = schema<KnownSystem>("system", kFields);
  return kSchema;
}

template <>
const Schema& schema_of<DerivedSystem>() {
  static constexpr Field kFields[] = {
      by_hand("chips", "of the machine", TypeOf<std::int64_t>::type),
      by_hand(
          "technology",
          "what the chips are derived from; then `accelerator`, `memory` and `levels` need not be "
          "there, and what they say goes before ([technology.md](technology.md))",
          TypeOf<Technology>::type, {.flags = kRequired | kFromFile}),
      by_hand("budget", "what the parts of a chip may have", TypeOf<Budget>::type,
              {.flags = kRequired | kFromFile}),
      by_hand("accelerator", "what is known of a chip", TypeOf<GivenValues>::type),
      by_hand("memory", "what is known of it", TypeOf<GivenMemory>::type),
      by_hand("levels", "what is known of them", TypeOf<GivenLevelsText>::type),
      by_hand("network", "dimensions, innermost first", kNetwork)};
  static const Schema kSchema = schema<DerivedSystem>("system of a technology", kFields);
  return kSchema;
}

const Type kSystemType =
    either(TypeOf<KnownSystem>::type, TypeOf<DerivedSystem>::type, "technology");

}  // namespace dfsearch
