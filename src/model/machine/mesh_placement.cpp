// Counts the edges of every axis on each link by walking along every edge, in chips x axes x sides
// steps.

#include "model/machine/mesh_placement.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

namespace dfsearch {
namespace {

struct Chip {
  std::int64_t x;
  std::int64_t y;
};

/// The place of a chip if columns are filled one after the other.
Chip chip_at(const Mesh& mesh, MeshFill fill, std::int64_t index) {
  const std::int64_t x = index / mesh.height;
  const std::int64_t y = index % mesh.height;
  return {x, fill == MeshFill::Snake && x % 2 == 1 ? mesh.height - 1 - y : y};
}

/// Marks the links from one place to another of a line or ring of `size` places, and returns their
/// number.
template <class Mark>
std::int64_t walk(std::int64_t from, std::int64_t to, std::int64_t size, bool closed, Mark mark) {
  const std::int64_t along = std::abs(to - from);
  const bool wraps = closed && size - along < along;
  const std::int64_t steps = wraps ? size - along : along;
  const bool rises = (to > from) != wraps;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t next = (from + (rises ? 1 : size - 1)) % size;
    mark(rises ? from : next);  // a link has the name of its lower end
    from = next;
  }
  return steps;
}

}  // namespace

MeshLoads mesh_loads(const Mesh& mesh, std::span<const MeshAxis> axes,
                     const MeshPlacement& placement) {
  if (placement.fill == MeshFill::Rows || placement.fill == MeshFill::SnakeRows) {
    Mesh transposed = mesh;
    std::swap(transposed.width, transposed.height);
    const bool is_snake = placement.fill == MeshFill::SnakeRows;
    return mesh_loads(transposed, axes,
                      {placement.order, is_snake ? MeshFill::Snake : MeshFill::Straight});
  }
  const auto chips = static_cast<std::size_t>(mesh.chips());
  MeshLoads loads{.own = std::vector<std::int64_t>(axes.size()),
                  .hops = std::vector<std::int64_t>(axes.size())};
  std::vector<std::int64_t> of_all(2 * chips);  // along x, then along y
  std::int64_t stride = 1;
  for (const std::size_t a : placement.order) {
    const auto [extent, open] = axes[a];
    std::vector<std::int64_t> edges(2 * chips);
    for (std::int64_t i = 0; i < mesh.chips(); ++i) {
      const std::int64_t member = i / stride % extent;
      const bool last = member + 1 == extent;
      if (last && (open || extent == 2)) continue;
      const std::int64_t next = last ? i - member * stride : i + stride;
      const Chip from = chip_at(mesh, placement.fill, i);
      const Chip to = chip_at(mesh, placement.fill, next);
      const auto mark = [&](std::size_t half, std::int64_t x, std::int64_t y) {
        ++edges[half * chips + static_cast<std::size_t>(x * mesh.height + y)];
      };
      const std::int64_t hops =
          walk(from.x, to.x, mesh.width, mesh.closed, [&](auto x) { mark(0, x, from.y); }) +
          walk(from.y, to.y, mesh.height, mesh.closed, [&](auto y) { mark(1, to.x, y); });
      loads.hops[a] = std::max(loads.hops[a], hops);
    }
    loads.own[a] = *std::max_element(edges.begin(), edges.end());
    std::transform(edges.begin(), edges.end(), of_all.begin(), of_all.begin(), std::plus<>());
    stride *= extent;
  }
  loads.all = *std::max_element(of_all.begin(), of_all.end());
  return loads;
}

std::vector<MeshPlacement> mesh_placements(const Mesh& mesh, std::span<const MeshAxis> axes) {
  const std::size_t fills = mesh.width == mesh.height ? 2 : kMeshFills.size();
  std::vector<std::size_t> order;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (axes[a].extent > 1) order.push_back(a);
  }
  std::vector<MeshPlacement> all;
  do {
    for (std::size_t fill = 0; fill < fills; ++fill) all.push_back({order, kMeshFills[fill]});
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

}  // namespace dfsearch
