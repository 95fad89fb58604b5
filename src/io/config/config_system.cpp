// The sections `system`, `price` and `power`.

#include "io/config/config_system.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/units_text.hpp"
#include "io/config/config_technology.hpp"
#include "io/schema/read_schema.hpp"
#include "model/evaluate.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

// Greatest relative difference between the peak of the cores and a stated one.
constexpr double kPeakTolerance = 0.01;
constexpr double kMostUnits = 4611686018427387904.0;  // 2^62 multiply-add units

struct KnownSystem {};
struct DerivedSystem {};

constexpr Type kChip = either(TypeOf<GivenSram>::type, TypeOf<AcceleratorSection>::type, "cores");

constexpr Field kMemoryLatency = field<&MemorySection::first, &MemoryTier::latency>(
    "latency", "latency of an access; each partition of a mapping with traffic waits for it once",
    {.limits = kLatencyLimits});

/// Refuses more multiply-add units than 64-bit integers can count.
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
  AcceleratorSection text;
  YamlEntry known = section;
  if (const YamlEntry* peak = section.value.find("peak")) {
    messages.add(peak->place, "accelerator",
                 "there is no key 'peak': expected lanes, stages, cores and frequency, whose "
                 "product times 2 is the peak; with 'training', execution.efficiency.matrix sets a "
                 "peak and an efficiency");
    std::erase_if(known.value.entries, [](const YamlEntry& entry) { return entry.key == "peak"; });
  }
  MapReader reader(known, messages);
  read_object(reader, text);
  bundle = text.bundle;
  check_units(text.accelerator, reader.place(), messages);
  return text.accelerator;
}

void check_tiers(MapReader& reader, const MemorySection& memory, bool is_derived,
                 const YamlEntry& second) {
  const YamlEntry* capacity = reader.optional("capacity");
  if (!capacity && !is_derived) {
    reader.messages().add(
        second.place, "second",
        "a second tier is used when the first one is full; expected 'capacity' of the first tier");
  }
  const BytesPerSecond first = memory.first.bandwidth;
  if (first > BytesPerSecond{} && memory.second->bandwidth > first) {
    const YamlEntry* bandwidth = second.value.find("bandwidth");
    reader.messages().add(place_of_conflict({bandwidth, reader.optional("bandwidth")}), "bandwidth",
                          fmt::format("expected at most that of the first tier, {}, got {}",
                                      to_text(first), to_text(memory.second->bandwidth)));
  }
}

MemorySection read_memory(const YamlEntry& section, bool is_derived, InputMessages& messages) {
  MapReader reader(section, messages);
  MemorySection memory;
  read_keys(reader, is_derived ? schema_of<GivenMemory>() : schema_of<MemorySection>(), &memory);
  if (memory.second) check_tiers(reader, memory, is_derived, *reader.optional("second"));
  reader.finish();
  return memory;
}

/// A chip with peaks but no cores: it gets one core that has the whole peak.
Accelerator chip_of_peaks(const YamlEntry& section, const Peaks& peaks, InputMessages& messages) {
  GivenSram given;
  read_object(section, given, messages);
  const auto peak = product_peak(peaks, Math::Bf16);
  if (!peak) {
    messages.add(
        section.place, "accelerator",
        "expected cores, lanes, stages and frequency, as 'peaks' has none of 16 or 32 bits");
    return {};
  }
  return {.frequency = Hertz(0.5 * peak->rate.in_base_units()), .sram = given.sram};
}

/// Refuses cores whose peak is not the stated peak for 16 bits.  If another file or an override
/// changes some keys of the cores, the peaks of the first file change by the same factor.
void match_peaks_to_cores(const YamlEntry& accelerator, const YamlEntry& section, Machine& system,
                          InputMessages& messages) {
  const auto stated = product_peak(system.peaks, Math::Bf16);
  if (messages.count() > 0 || !stated) return;
  const double change = system.accelerator.peak() / stated->rate;
  if (std::abs(change - 1.0) <= kPeakTolerance) return;
  const auto entry_of = [&](bool on_vector, Math math) {
    const YamlEntry* engine = section.value.find(on_vector ? "vector" : "matrix");
    return engine ? engine->value.find(name_of(math)) : nullptr;
  };
  const Place& place = entry_of(stated->on_vector, stated->math)->place;
  std::size_t beside = 0;
  for (const YamlEntry& entry : accelerator.value.entries) {
    beside += *entry.place.source == *place.source ? 1U : 0U;
  }
  if (beside == 0 || beside == accelerator.value.entries.size()) {
    messages.add(
        place, name_of(stated->math),
        fmt::format("expected the peak of the cores, {}, or an accelerator with only 'sram'",
                    to_text(system.accelerator.peak())));
    return;
  }
  for (const bool on_vector : {false, true}) {
    EnginePeaks& engine = on_vector ? system.peaks.vector : system.peaks.matrix;
    for (std::size_t i = 0; i < kMathCount; ++i) {
      const YamlEntry* own = entry_of(on_vector, static_cast<Math>(i));
      if (own && *own->place.source == *place.source) engine.of[i] = engine.of[i] * change;
    }
  }
}

/// Reads a chip whose cores and memories are given.
void read_known_chip(MapReader& reader, Machine& system, InputMessages& messages) {
  if (const YamlEntry* part = reader.optional("peaks")) {
    read_object(*part, system.peaks, messages);
  }
  if (const YamlEntry* part = reader.required("memory")) {
    system.memory = read_memory(*part, false, messages).tiers();
  }
  std::int64_t bundle = 1;
  if (const YamlEntry* part = reader.required("accelerator")) {
    const bool has_cores = !system.peaks.stated() || part->value.find("cores");
    system.accelerator = has_cores ? read_accelerator(*part, bundle, messages)
                                   : chip_of_peaks(*part, system.peaks, messages);
    system.counts_cores = has_cores;
    if (const YamlEntry* peaks = has_cores ? reader.optional("peaks") : nullptr) {
      match_peaks_to_cores(*part, *peaks, system, messages);
    }
  }
  if (const YamlEntry* levels = reader.optional("levels")) {
    system.levels = read_levels(*levels, system.accelerator.cores, bundle, messages);
  }
  if (const YamlEntry* budget = reader.optional("budget")) {
    messages.add(budget->place, "budget",
                 "only valid with 'system.technology'; set that or remove this key");
  }
}

/// Reads a derived chip; given values, also in `memory`, override derived values.
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
  if (const YamlEntry* budget = reader.required("budget", "required with 'technology'")) {
    design.budget = read_budget(*budget, design.technology, messages);
  }
  return design;
}

}  // namespace

std::optional<SystemSection> read_system(const YamlEntry& section,
                                         std::optional<std::int64_t> copies, SystemUse use,
                                         InputMessages& messages) {
  const std::size_t before = messages.count();
  MapReader reader(section, messages);
  SystemSection text;
  Machine& system = text.system;
  const bool whole = use == SystemUse::Whole;
  if (whole) reader.required("chips", section.value.place.is_override() ? "add --chips N" : "");
  system.chips = reader.optional_count("chips").value_or(1);
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
  if (const YamlEntry* energy = reader.optional("energy")) {
    read_object(*energy, system.energy, messages);
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
      if (!text.design) restrict_to_one_copy(system, *copies);
      check_degrees(system, *copies, section, messages);
    }
  }
  if (messages.count() != before) return std::nullopt;
  system.price.link.resize(system.network.size());
  system.power.link.resize(system.network.size());
  return text;
}

namespace {

/// Reads a section of rates, and evaluates a polynomial at the peak of the system.
template <class Units>
void read_rates(const YamlEntry& section, const Machine& system, Units& units,
                InputMessages& messages) {
  read_object(section, units, messages);
  if (!units.by_peak || units.by_peak->polynomial.empty()) return;
  const Place& place = section.value.find("accelerator")->value.place;
  if (!(system.peak() > FlopsPerSecond{})) {
    messages.add(place, "accelerator",
                 "expected a number: a polynomial needs the peak of the chip, which is unknown for "
                 "a 'technology'");
    return;
  }
  const double rate = units.by_peak->at(system.peak());
  using Amount = decltype(units.accelerator);
  if (rate >= 0.0) {
    units.accelerator = Amount(rate);
  } else {
    messages.add(
        place, "accelerator",
        fmt::format("the polynomial has the value {:.4g} at the peak {}, expected at least 0", rate,
                    to_text(system.peak())));
  }
}

}  // namespace

void read_prices(MapReader& reader, Machine* system) {
  const YamlEntry* price = reader.optional("price");
  const YamlEntry* power = reader.optional("power");
  const YamlEntry* energy = reader.optional("energy");
  if (!system) return;
  if (price) read_rates(*price, *system, system->price, reader.messages());
  if (power) read_rates(*power, *system, system->power, reader.messages());
  if (energy) read_object(*energy, system->energy, reader.messages());
}

void resolve_defaults_of_chip(const ChipDesign& design, const Chip& chip, const YamlEntry& section,
                              Machine& system, InputMessages& messages) {
  put_into(design, chip, system);
  const YamlEntry* technology = section.value.find("technology");
  check_units(system.accelerator, technology->place, messages);
  const MemoryTier* second = system.second_memory();
  if (second && second->bandwidth > system.memory[0].bandwidth) {
    messages.add(
        technology->place, "memory",
        fmt::format(
            "the second tier has {}, expected at most the derived bandwidth of the first, {}",
            to_text(second->bandwidth), to_text(system.memory[0].bandwidth)));
  }
}

const Schema& schema_of(Rows<AcceleratorSection>) {
  static constexpr Field kFields[] = {
      keys_of<&AcceleratorSection::accelerator>(),
      field<&AcceleratorSection::bundle>("bundle",
                                         "number of cores that share a level of scope `bundle`")};
  return schema<AcceleratorSection, kFields>("accelerator");
}

const Schema& schema_of(Rows<GivenValues>) {
  using G = GivenValues;
  static constexpr Field kFields[] = {
      field<&G::cores>("cores", "cores of a chip", {.preset = "derived"}),
      field<&G::frequency>("frequency", "clock of a chip",
                           {.limits = kFrequencyLimits, .preset = "derived"}),
      field<&G::sram>("sram", "SRAM of a chip", {.limits = kSizeLimits, .preset = "derived"})};
  return schema<G, kFields>("given accelerator");
}

const Schema& schema_of(Rows<GivenSram>) {
  static constexpr Field kFields[] = {field<&GivenSram::sram>(
      "sram", "SRAM of a chip", {.limits = kSizeLimits, .flags = kRequired})};
  return schema<GivenSram, kFields>("accelerator of peaks");
}

const Schema& schema_of(Rows<MemoryTier>) {
  static constexpr Field kFields[] = {
      field<&MemoryTier::bandwidth>("bandwidth", "at most that of the first tier",
                                    {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&MemoryTier::capacity>("capacity", "capacity of a chip",
                                   {.limits = kSizeLimits, .flags = kRequired})};
  return schema<MemoryTier, kFields>("second memory");
}

const Schema& schema_of(Rows<MemorySection>) {
  using M = MemorySection;
  static constexpr Field kFields[] = {
      field<&M::first, &MemoryTier::bandwidth>("bandwidth", "bandwidth of a chip",
                                               {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&M::first, &MemoryTier::capacity>("capacity", "capacity of a chip",
                                              {.limits = kSizeLimits, .preset = "unlimited"}),
      kMemoryLatency,
      field<&M::second>("second",
                        "a slower second tier; if the data exceed the first tier, traffic goes to "
                        "both tiers in proportion to their capacities")};
  return schema<M, kFields>("memory");
}

const Schema& schema_of(Rows<GivenMemory>) {
  using M = MemorySection;
  static constexpr Field kFields[] = {
      field<&M::first, &MemoryTier::bandwidth>("bandwidth", "bandwidth of a chip",
                                               {.limits = kBandwidthLimits, .preset = "derived"}),
      field<&M::first, &MemoryTier::capacity>("capacity", "capacity of a chip",
                                              {.limits = kSizeLimits, .preset = "derived"}),
      kMemoryLatency, field<&M::second>("second", "a slower tier behind the first")};
  return schema<M, kFields>("given memory");
}

static constexpr Field kEnergyOfSystem =
    by_hand("energy", "energies of a chip; a section `energy` changes single keys",
            TypeOf<EnergyRates>::type, {.preset = "not stated"});

const Schema& schema_of(Rows<KnownSystem>) {
  static constexpr Field kFields[] = {
      by_hand("chips", "number of chips", TypeOf<std::int64_t>::type, {.flags = kRequired}),
      by_hand("accelerator", "cores of a chip; with `peaks` the key `sram` is enough", kChip,
              {.flags = kRequired}),
      by_hand("peaks",
              "peaks of dense products by number format. The peak of 16 bits must be that of the "
              "cores in `accelerator`. If another file or `--set` changes keys of the cores, peaks "
              "that it does not state change by the same factor",
              TypeOf<Peaks>::type, {.preset = "the peak of the cores, for all formats"}),
      by_hand("memory", "memory of a chip", TypeOf<MemorySection>::type, {.flags = kRequired}),
      by_hand("levels", "on-chip memories, for `execution.levels`", TypeOf<LevelsSection>::type,
              {.preset = "none"}),
      by_hand("network", "dimensions, innermost first", kNetworkType,
              {.preset = "none, for one chip"}),
      kEnergyOfSystem};
  return schema<KnownSystem, kFields>("system");
}

const Schema& schema_of(Rows<DerivedSystem>) {
  static constexpr Field kFields[] = {
      by_hand("chips", "number of chips", TypeOf<std::int64_t>::type),
      by_hand(
          "technology",
          "technology from which chips are derived; `accelerator`, `memory` and `levels` are then "
          "optional, and override derived values ([technology.md](technology.md))",
          TypeOf<Technology>::type, {.flags = kRequired | kFromFile}),
      by_hand("budget", "area, power and edge of a chip and its parts", TypeOf<Budget>::type,
              {.flags = kRequired | kFromFile}),
      by_hand("accelerator", "known values of a chip", TypeOf<GivenValues>::type),
      by_hand("memory", "known values of the memory", TypeOf<GivenMemory>::type),
      by_hand("levels", "known values of the levels", TypeOf<GivenLevelsSection>::type),
      by_hand("network", "dimensions, innermost first", kNetworkType),
      kEnergyOfSystem};
  return schema<DerivedSystem, kFields>("system of a technology");
}

const Type kSystemType =
    either(TypeOf<KnownSystem>::type, TypeOf<DerivedSystem>::type, "technology");

}  // namespace dfsearch
