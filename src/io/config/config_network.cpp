// The list `network` of a system, and the section `parallelism`.

#include "io/config/config_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/schema/read_schema.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "model/training/plan.hpp"
#include "schema/report.hpp"
#include "technology/chip.hpp"

namespace dfsearch {
namespace {

// Limits of the number of ways to use the network, which are all enumerated, and of the ways to
// divide it among the roles of a plan, which are enumerated for one parallelism at a time.
constexpr double kMostNetworks = 1e7;
constexpr double kMostDivisions = 1e10;

constexpr Interval kSideOfMesh{1, 1024};

/// Topologies in addition to those of NetworkDimension.
enum class MeshTopology : std::uint8_t { Mesh, Torus2d };
constexpr std::int64_t kFirstMesh = kTopologyRows.size();
constexpr Type kJoined{
    .form = Form::Choice,
    .put =
        [](void* object, std::int64_t value) {
          auto& dimension = static_cast<DimensionSection*>(object)->dimension;
          if (value < kFirstMesh) {
            dimension.topology = static_cast<Topology>(value);
          } else {
            dimension.mesh.emplace().closed =
                value - kFirstMesh == static_cast<std::int64_t>(MeshTopology::Torus2d);
          }
        },
    .get = [](const void* object) -> std::int64_t {
      const auto& dimension = static_cast<const DimensionSection*>(object)->dimension;
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

/// Sets the degree of a mesh to the product of its sides, or checks it.  A given bandwidth
/// overrides the kind of link.
void check_dimension(void* object, Report& report) {
  auto& text = *static_cast<DimensionSection*>(object);
  NetworkDimension& dimension = text.dimension;
  if (report.given(&dimension.bandwidth)) text.ports.link.reset();
  if (dimension.both_ways && !row_of(dimension.topology).spans_grid) {
    report.at_key(&dimension.both_ways, "only valid with the topology ring, line, mesh or torus2d");
  }
  if (!dimension.mesh) {
    for (const void* side :
         std::initializer_list<const void*>{&text.width, &text.height, &text.sharing}) {
      if (!report.given(side)) continue;
      report.at_key(side, "only valid with the topology mesh or torus2d; remove this key");
    }
    return;
  }
  if (!text.width || !text.height) return report.at_map("a mesh needs 'width' and 'height'");
  Mesh& mesh = *dimension.mesh;
  mesh = {.width = *text.width,
          .height = *text.height,
          .closed = mesh.closed,
          .sharing = text.sharing.value_or(MeshSharing::Own)};
  if (dimension.degree && *dimension.degree != mesh.chips()) {
    report.at({&dimension.degree},
              fmt::format("expected width * height = {}, got {}", mesh.chips(), *dimension.degree));
  }
  dimension.degree = mesh.chips();
}

/// Place of the network, or of the override that made the product wrong.
Place place_of_degrees(const YamlEntry& section) {
  const Place& chips = section.value.find("chips")->value.place;
  const YamlEntry* network = section.value.find("network");
  if (chips.is_override()) return chips;
  if (!network) return section.place;
  for (const YamlNode& item : network->value.items) {
    const YamlEntry* degree = item.find("degree");
    if (degree && degree->value.place.is_override()) return degree->value.place;
  }
  return network->value.place;
}

/// The innermost degree that would divide the chips, as `--set` takes it.
std::string smaller_degree(const Machine& system, std::int64_t chips) {
  const NetworkDimension& inner = system.network.front();
  if (!inner.degree || inner.mesh) return "";
  const std::int64_t divisor = std::gcd(*inner.degree, chips);
  if (divisor == *inner.degree || divisor == 1) return "";
  return fmt::format(
      ": --set system.network.0.degree={} replaces the {} of the innermost dimension", divisor,
      *inner.degree);
}

/// Number of ways to write a number as an ordered product of `factors` factors.
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
               fmt::format("the network can be used in {:.2g} ways, expected at most {:g}: fix {} "
                           "of more dimensions",
                           ways, most, given));
}

}  // namespace

std::vector<NetworkDimension> read_network(const YamlEntry& section, const Technology* technology,
                                           std::vector<DimensionPorts>& ports,
                                           InputMessages& messages) {
  std::vector<NetworkDimension> network;
  if (!holds_list(section, "a list of dimensions, innermost first", messages)) return network;
  for (const YamlNode& item : section.value.items) {
    DimensionSection text;
    read_object(MapReader(item, "network", item.place, messages), text);
    const YamlEntry* link = technology ? nullptr : item.find("link");
    const YamlEntry* own = technology ? nullptr : item.find("ports");
    if (link) {
      messages.add(link->place, "link",
                   "only valid with 'system.technology'; expected 'bandwidth' instead");
    }
    if (own) {
      messages.add(own->place, "ports", "only valid with 'system.technology'; remove this key");
    }
    network.push_back(text.dimension);
    ports.push_back(text.ports);
  }
  return network;
}

void restrict_to_one_copy(Machine& system, std::int64_t copies) {
  const bool is_open =
      std::any_of(system.network.begin(), system.network.end(),
                  [](const NetworkDimension& dimension) { return !dimension.degree; });
  if (!is_open) return;
  std::vector<NetworkDimension> network = system.network;
  std::int64_t left = system.chips / copies;
  for (NetworkDimension& dimension : network) {
    if (!dimension.degree) continue;
    if (left < *dimension.degree && !dimension.mesh && !dimension.measured) {
      dimension.whole = dimension.degree;
      dimension.degree = left;
      if (dimension.topology == Topology::Ring) dimension.topology = Topology::Line;
    }
    if (left % *dimension.degree != 0) return;
    left /= *dimension.degree;
  }
  system.network = std::move(network);
}

void check_degrees(const Machine& system, std::int64_t copies, const YamlEntry& section,
                   InputMessages& messages) {
  const Place place = place_of_degrees(section);
  const std::int64_t chips = system.chips / copies;
  const std::string all = copies == 1 ? "the number of chips" : "the chips of a copy";
  std::string product_text;
  double product = 1.0;  // a double, as the product may leave 64 bits
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
                 fmt::format("the product of the degrees given is {}, expected a divisor of {}, "
                             "{}{}",
                             product_text, all, chips, smaller_degree(system, chips)));
    return;
  }
  if (product == static_cast<double>(chips)) return;
  messages.add(place, "network",
               system.network.empty()
                   ? fmt::format("{} chips need a network", chips)
                   : fmt::format("the product of the degrees is {}, expected {}, {}", product_text,
                                 all, chips));
}

std::int64_t members_of(const std::vector<NetworkDimension>& network) {
  double members = 1.0;
  for (const NetworkDimension& dimension : network) {
    members *= static_cast<double>(dimension.degree.value_or(1));
  }
  return static_cast<std::int64_t>(std::min(members, static_cast<double>(kLargestCount)));
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

std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages) {
  ParallelismSection text;
  read_object(section, text, messages);
  return text.degrees;
}

const Schema& schema_of(Rows<DimensionSection>) {
  using D = DimensionSection;
  static constexpr Field kFields[] = {
      whole(
          "topology",
          "how members are linked; a plan of training places the members of a `mesh` or `torus2d`",
          kJoined, {.flags = kRequired}),
      field<&D::width>("width", "chips of a row", {.limits = kSideOfMesh, .preset = "none"}),
      field<&D::height>("height", "chips of a column", {.limits = kSideOfMesh, .preset = "none"}),
      field<&D::sharing>("sharing",
                         "messages that share a link of a mesh. `own`: those of one role, as roles "
                         "do not communicate at the same time; `all`: those of all roles",
                         {.preset = "own"}),
      field<&D::dimension, &NetworkDimension::degree>(
          "degree",
          "number of members; the product over dimensions is `chips`, divided by `copies` of the "
          "workload",
          {.preset = "searched"}),
      field<&D::dimension, &NetworkDimension::strategy>(
          "strategy", "parallelism that the dimension serves; several may serve the same",
          {.preset = "searched"}),
      field<&D::ports, &DimensionPorts::link>("link", "kind of link of the `technology`"),
      field<&D::ports, &DimensionPorts::ports>("ports", "ports of a chip for this dimension",
                                               {.preset = "as the topology has"}),
      field<&D::dimension, &NetworkDimension::bandwidth>(
          "bandwidth", "bandwidth of one link", {.limits = kBandwidthLimits, .unless = "link"}),
      field<&D::dimension, &NetworkDimension::latency>(
          "latency",
          "latency of one message over one link; the switch `latency` of `equations` chooses the "
          "exchanges that pay it",
          {.limits = kLatencyLimits}),
      field<&D::dimension, &NetworkDimension::both_ways>("both_ways", kBothWays)};
  return schema<D, kFields>("dimension", &check_dimension);
}

const Schema& schema_of(Rows<ParallelismSection>) {
  using P = ParallelismSection;
  static constexpr Extra kAnyDegree{.preset = "any"};
  static constexpr Field kFields[] = {
      element<0, &P::degrees>("tensor", "degrees that the search may choose", kAnyDegree),
      element<1, &P::degrees>("pipeline", "degrees that the search may choose", kAnyDegree),
      element<2, &P::degrees>("data", "degrees that the search may choose", kAnyDegree)};
  return schema<P, kFields>("parallelism");
}

}  // namespace dfsearch
