#include "model/machine/mesh_placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace dfsearch {
namespace {

using Place = std::pair<std::int64_t, std::int64_t>;

/// A chip beside a place, one step nearer to the end along a line or ring of `size`.
std::int64_t nearer(std::int64_t at, std::int64_t end, std::int64_t size, bool closed) {
  const std::int64_t up = (end - at + size) % size;
  const std::int64_t down = (at - end + size) % size;
  if (!closed || up == down) return at < end ? at + 1 : at - 1;
  return up < down ? (at + 1) % size : (at + size - 1) % size;
}

/// Message by message and link by link, each by the two chips that it joins.
MeshLoads sent(const Mesh& mesh, const std::vector<MeshAxis>& axes, const MeshPlacement& of) {
  std::vector<std::int64_t> strides(axes.size(), 1);
  std::int64_t stride = 1;
  for (const std::size_t a : of.order) {
    strides[a] = stride;
    stride *= axes[a].extent;
  }
  const bool by_rows = of.fill == MeshFill::Rows || of.fill == MeshFill::SnakeRows;
  const bool is_snake = of.fill == MeshFill::Snake || of.fill == MeshFill::SnakeRows;
  const auto place = [&](std::int64_t chip) {
    const std::int64_t length = by_rows ? mesh.width : mesh.height;
    const std::int64_t line = chip / length;
    std::int64_t along = chip - line * length;
    if (is_snake && line % 2 == 1) along = length - along - 1;
    return by_rows ? Place(along, line) : Place(line, along);
  };
  MeshLoads loads{std::vector<std::int64_t>(axes.size()), 0,
                  std::vector<std::int64_t>(axes.size())};
  std::map<std::pair<Place, Place>, std::vector<std::int64_t>> links;
  for (std::int64_t chip = 0; chip < mesh.chips(); ++chip) {
    for (const std::size_t a : of.order) {
      const auto [extent, open] = axes[a];
      const std::int64_t member = chip / strides[a] % extent;
      if (member + 1 == extent && (open || extent == 2)) continue;
      const std::int64_t next = (member + 1) % extent;
      Place at = place(chip);
      const Place end = place(chip + (next - member) * strides[a]);
      std::int64_t hops = 0;
      for (; at != end; ++hops) {
        Place to = at;
        const bool goes_x = by_rows ? at.second == end.second : at.first != end.first;
        if (goes_x) {
          to.first = nearer(at.first, end.first, mesh.width, mesh.closed);
        } else {
          to.second = nearer(at.second, end.second, mesh.height, mesh.closed);
        }
        auto& link = links[std::minmax(at, to)];
        link.resize(axes.size());
        ++link[a];
        at = to;
      }
      loads.hops[a] = std::max(loads.hops[a], hops);
    }
  }
  for (const auto& [ends, edges] : links) {
    std::int64_t all = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      loads.own[a] = std::max(loads.own[a], edges[a]);
      all += edges[a];
    }
    loads.all = std::max(loads.all, all);
  }
  return loads;
}

TEST_CASE("links of a mesh carry what messages one by one leave on them") {
  std::mt19937_64 random(5);
  for (int world = 0; world < 300; ++world) {
    CAPTURE(world);
    std::vector<MeshAxis> axes(1 + random() % 4);
    std::int64_t chips = 1;
    for (MeshAxis& axis : axes) {
      axis = {.extent = static_cast<std::int64_t>(1 + random() % 5), .open = random() % 3 == 0};
      chips *= axis.extent;
    }
    std::int64_t width = static_cast<std::int64_t>(1 + random() % 12);
    while (chips % width != 0) --width;
    const Mesh mesh{.width = width, .height = chips / width, .closed = random() % 2 == 0};
    const std::vector<MeshPlacement> placements = mesh_placements(mesh, axes);
    const MeshPlacement& placement = placements[random() % placements.size()];
    const MeshLoads loads = mesh_loads(mesh, axes, placement);
    const MeshLoads expected = sent(mesh, axes, placement);
    CHECK(loads.own == expected.own);
    CHECK(loads.all == expected.all);
    CHECK(loads.hops == expected.hops);
  }
}

TEST_CASE("placements are all orders of the axes with members, each straight and as a snake") {
  const std::vector<MeshAxis> axes = {{.extent = 4}, {.extent = 1}, {.extent = 2}};
  const Mesh square{.width = 3, .height = 3};
  CHECK(mesh_placements(square, axes).size() == 4);
  const std::vector<MeshPlacement> by_rows = mesh_placements({.width = 4, .height = 2}, axes);
  REQUIRE(by_rows.size() == 8);
  CHECK(by_rows[2].fill == MeshFill::Rows);
  CHECK(by_rows[3].fill == MeshFill::SnakeRows);
  const std::vector<MeshPlacement> all = mesh_placements(square, axes);
  CHECK(all[0].order == std::vector<std::size_t>{0, 2});
  CHECK(all[0].fill == MeshFill::Straight);
  CHECK(all[1].order == std::vector<std::size_t>{0, 2});
  CHECK(all[1].fill == MeshFill::Snake);
  CHECK(all[2].order == std::vector<std::size_t>{2, 0});
}

}  // namespace
}  // namespace dfsearch
