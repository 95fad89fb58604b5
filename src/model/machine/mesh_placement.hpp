#pragma once
// Several axes of parallelism on the chips of one mesh: which links their rings share
// (docs/model.md, section 5; Ardalani et al., DeepFlow, section 5.2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/words.hpp"

namespace dfsearch {

/// The messages that share a link.
enum class MeshSharing : std::uint8_t {
  Own,  ///< messages of one axis: axes do not communicate at the same time
  All,  ///< messages of all axes
};
constexpr auto words(MeshSharing) { return named<MeshSharing>("own", "all"); }

/// width x height chips, each joined to its neighbours in its row and column.
struct Mesh {
  std::int64_t width = 1;
  std::int64_t height = 1;
  bool closed = false;  ///< a torus: the first and the last of a row or column are joined as well
  MeshSharing sharing = MeshSharing::Own;

  [[nodiscard]] std::int64_t chips() const { return width * height; }
};

/// Each member of an axis sends to the next member and, unless the axis is open, the last member to
/// the first.
struct MeshAxis {
  std::int64_t extent = 1;
  bool open = false;
};

/// Chips fill columns or rows one after the other; a snake fills odd lines from their end.
enum class MeshFill : std::uint8_t { Straight, Snake, Rows, SnakeRows };
constexpr auto words(MeshFill) {
  return named<MeshFill>("straight", "snake", "rows", "snake_rows");
}
inline constexpr std::array kMeshFills = {MeshFill::Straight, MeshFill::Snake, MeshFill::Rows,
                                          MeshFill::SnakeRows};

/// Chip i of the nested axes is in column i / height, or in row i / width.
struct MeshPlacement {
  std::vector<std::size_t> order;  ///< axes of more than one member, innermost first
  MeshFill fill = MeshFill::Straight;
};

/// The loads of links by messages to the next member of every axis.  A message goes from line to
/// line first, then along the line; on a torus it goes the shorter way round, and does not wrap if
/// both ways are equally long.
struct MeshLoads {
  std::vector<std::int64_t> own;   ///< per axis: the most edges of the axis on one link
  std::int64_t all = 0;            ///< the most edges of all axes on one link
  std::vector<std::int64_t> hops;  ///< per axis: the most links of an edge
};

/// The product of the extents is the number of chips.
MeshLoads mesh_loads(const Mesh& mesh, std::span<const MeshAxis> axes,
                     const MeshPlacement& placement);

/// All orders of the axes, each straight and as a snake, by columns and by rows, in the order of
/// ties.  Rows of a square are left out, since they load its links as columns do.
std::vector<MeshPlacement> mesh_placements(const Mesh& mesh, std::span<const MeshAxis> axes);

}  // namespace dfsearch
