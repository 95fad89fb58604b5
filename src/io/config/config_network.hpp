#pragma once
// The list `network` of a system, and the section `parallelism` of a config.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "io/text/map_reader.hpp"
#include "model/problem.hpp"
#include "schema/schema.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

inline constexpr const char* kBothWays =
    "whether collectives use its links in both directions; neighbouring rings and lines of this "
    "kind are the axes of a torus, which work at once";

struct DimensionSection {
  NetworkDimension dimension;
  DimensionPorts ports;
  std::optional<std::int64_t> width;  ///< of its mesh; the degree is width * height
  std::optional<std::int64_t> height;
  std::optional<MeshSharing> sharing;
};
struct ParallelismSection {
  std::array<DegreeChoice, 3> degrees;  ///< by Strategy
};

const Schema& schema_of(Rows<DimensionSection>);
const Schema& schema_of(Rows<ParallelismSection>);

inline constexpr Type kNetworkType = list_of(TypeOf<DimensionSection>::type);

/// Fewer chips than the inner dimensions of a machine join are some of their members: 4 of the 8
/// chips of a node.  A part of a ring is a line.
void restrict_to_one_copy(Machine& system, std::int64_t copies);

/// The dimensions, and in `ports` how they are connected to the links of a chip.  Without a
/// technology all have a bandwidth of their own.
std::vector<NetworkDimension> read_network(const YamlEntry& section, const Technology* technology,
                                           std::vector<DimensionPorts>& ports,
                                           InputMessages& messages);
/// Checks that the product of the degrees is the number of chips; each of the `copies` of the
/// workload has a network of its own.  `section` is the section of the machine, here and below.
void check_degrees(const Machine& system, std::int64_t copies, const YamlEntry& section,
                   InputMessages& messages);
/// How many chips the degrees that are given connect.
std::int64_t members_of(const std::vector<NetworkDimension>& network);
/// Complains of the dimensions whose chips a plan would have to place.
void refuse_meshes(const Machine& machine, const YamlEntry& section, InputMessages& messages);

/// Checks that a search can go through the ways to use the network with this number of chips.
void check_networks(const Machine& machine, std::int64_t chips, const YamlEntry& section,
                    InputMessages& messages);
/// Checks that a search can go through the divisions of a plan, whose roles share the `divided`
/// dimensions.
void check_divisions(const Machine& machine, const std::vector<bool>& divided,
                     const YamlEntry& section, InputMessages& messages);
/// `parallelism: {tensor: 8, pipeline: [64, 128], data: ..4}`.
std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages);

}  // namespace dfsearch
