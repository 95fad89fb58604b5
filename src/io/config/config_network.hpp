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

/// Restricts the inner dimensions if one copy has fewer chips than they join, such as 4 of the 8
/// chips of a node.  A part of a ring is a line.
void restrict_to_one_copy(Machine& system, std::int64_t copies);

/// Reads the dimensions, and into `ports` their links and ports.  Without a technology each
/// dimension has its own bandwidth.
std::vector<NetworkDimension> read_network(const YamlEntry& section, const Technology* technology,
                                           std::vector<DimensionPorts>& ports,
                                           InputMessages& messages);
/// Checks that the product of the degrees is the number of chips; each of the `copies` of the
/// workload has a network of its own.  `section` is the section of the machine, here and below.
void check_degrees(const Machine& system, std::int64_t copies, const YamlEntry& section,
                   InputMessages& messages);
/// Number of chips that the given degrees connect.
std::int64_t members_of(const std::vector<NetworkDimension>& network);
/// Refuses meshes, on which a plan would have to place chips.
void refuse_meshes(const Machine& machine, const YamlEntry& section, InputMessages& messages);

/// Checks that the ways to use the network with this number of chips are few enough to search.
void check_networks(const Machine& machine, std::int64_t chips, const YamlEntry& section,
                    InputMessages& messages);
/// Checks that the divisions of a plan, whose roles share the `divided` dimensions, are few enough
/// to search.
void check_divisions(const Machine& machine, const std::vector<bool>& divided,
                     const YamlEntry& section, InputMessages& messages);
/// Reads `parallelism: {tensor: 8, pipeline: [64, 128], data: ..4}`.
std::array<DegreeChoice, 3> read_parallelism(const YamlEntry& section, InputMessages& messages);

}  // namespace dfsearch
