#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "cli/outputs.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_table.hpp"
#include "io/text/write_file.hpp"
#include "model/machine/mesh_placement.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

struct LoadedPlacement {
  MeshPlacement placement;
  MeshLoads loads;

  /// Time that the axes, one after the other, wait for links that they share with themselves.
  [[nodiscard]] std::int64_t value() const {
    return std::accumulate(loads.own.begin(), loads.own.end(), std::int64_t{0});
  }
};

Json placement_json(const LoadedPlacement& of) {
  return {{"order", of.placement.order}, {"fill", name_of(of.placement.fill)},
          {"value", of.value()},         {"own", of.loads.own},
          {"all", of.loads.all},         {"hops", of.loads.hops}};
}

std::string placement_table(const std::vector<LoadedPlacement>& all) {
  const auto joined = [](const auto& numbers) {
    return fmt::format("{}", fmt::join(numbers, " "));
  };
  TextTable table({"order", "fill", "own", "sum", "all", "hops", ""});
  for (const LoadedPlacement& of : all) {
    table.add({joined(of.placement.order), name_of(of.placement.fill), joined(of.loads.own),
               std::to_string(of.value()), std::to_string(of.loads.all), joined(of.loads.hops)},
              {});
  }
  return table.text();
}

}  // namespace

int run_mesh(const CommandLine& line) {
  check_output(line.json);
  std::vector<LoadedPlacement> all;
  for (MeshPlacement& placement : mesh_placements(line.mesh, line.axes)) {
    MeshLoads loads = mesh_loads(line.mesh, line.axes, placement);
    all.push_back({std::move(placement), std::move(loads)});
  }
  const auto best = std::min_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.value() < b.value(); });
  write_json_or(
      line.json,
      json_text({{"best", placement_json(*best)}, {"placements", json_list(all, placement_json)}}),
      placement_table(all) + "\nbest\n" + placement_table({*best}));
  return kProved;
}

}  // namespace dfsearch
