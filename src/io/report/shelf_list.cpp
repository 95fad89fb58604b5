#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/units_text.hpp"
#include "io/config/shelf_figures.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

using Row = std::vector<std::string>;

/// Columns two spaces apart, aligned to the left; except in the first row, the last column is
/// printed below the row.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (!row.back().empty()) {
      text += "    " + wrapped(words_of(row.back()), 4, 4) + "\n";
    }
  }
  return text;
}

std::string memory_text(const std::vector<MemoryTier>& memory) {
  return joined(memory, " + ", [](const MemoryTier& tier) {
    return fmt::format("{} at {}", to_text(tier.capacity), to_text(tier.bandwidth));
  });
}

/// "switch of 8 at 450 GB/s", without the degree if the config determines it.
std::string dimension_text(const NetworkDimension& dimension) {
  std::string text = dimension.measured ? "group" : topology_name(dimension);
  if (dimension.degree) text += fmt::format(" of {}", *dimension.degree);
  return text + " at " + to_text(dimension.bandwidth);
}

std::string network_text(const std::vector<NetworkDimension>& network) {
  return network.empty() ? "none" : joined(network, ", ", dimension_text);
}

Row row_of_system(const ShelfFile& file) {
  const SystemFigures figures = system_figures(file);
  const Machine& machine = figures.machine;
  const Bytes sram = machine.accelerator.sram;
  return {std::string(file.name),
          figures.chips ? std::to_string(*figures.chips) : "-",
          to_text(machine.peak()),
          sram > Bytes{} ? to_text(sram) : "-",
          memory_text(machine.memory),
          fmt::format("{} Network: {}.", file.description(), network_text(machine.network))};
}

Row row_of_workload(const ShelfFile& file) {
  const WorkloadFigures figures = workload_figures(file);
  return {std::string(file.name),
          name_of(figures.kind),
          figures.counts
              ? fmt::format("{:.4g} billion", static_cast<double>(figures.counts->parameters) / 1e9)
              : "-",
          std::to_string(figures.layers),
          std::to_string(figures.global_batch),
          to_text(figures.flop),
          std::string(file.description())};
}

Row row_of_study(const ShelfFile& file) {
  const auto points_of = [](const DimensionOfStudy& dimension) {
    return fmt::format("{} {}", dimension.choices, fmt::join(dimension.axes, "+"));
  };
  return {std::string(file.name), joined(study_figures(file).dimensions, " x ", points_of),
          std::string(file.description())};
}

Row header_of(ShelfKind kind) {
  if (kind == ShelfKind::Systems) {
    return {"system", "chips", "peak", "SRAM", "memory", ""};
  }
  if (kind == ShelfKind::Workloads) {
    return {"workload", "kind", "parameters", "layers", "samples", "a step", ""};
  }
  if (kind == ShelfKind::Configs) return {"config", ""};
  return {"study", "points", ""};
}

Row row_of(const ShelfFile& file) {
  if (file.kind == ShelfKind::Systems) return row_of_system(file);
  if (file.kind == ShelfKind::Configs) {
    return {std::string(file.name), std::string(file.description())};
  }
  return file.kind == ShelfKind::Workloads ? row_of_workload(file) : row_of_study(file);
}

}  // namespace

std::string shelf_list(std::span<const ShelfKind> kinds) {
  return joined(kinds, "\n", [](ShelfKind kind) {
    std::vector<Row> rows = {header_of(kind)};
    for (const ShelfFile& file : shelf(kind)) rows.push_back(row_of(file));
    return aligned(rows);
  });
}

}  // namespace dfsearch
