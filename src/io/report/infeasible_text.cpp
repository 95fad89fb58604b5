#include "io/report/infeasible_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.hpp"

namespace dfsearch {
namespace {

std::string too_much(const Infeasible& reason) {
  const double excess = reason.needed - reason.available;
  if (reason.available <= 0.0) return "all of it too much";
  const double percent = 100.0 * excess / reason.available;
  return percent < 100.0 ? fmt::format("{} ({:.3g} %) too much", to_text(Bytes(excess)), percent)
                         : fmt::format("{} ({:.0f} %) too much", to_text(Bytes(excess)), percent);
}

std::string sram_text(const Problem& problem, const Infeasible& reason) {
  // A kernel that overflows alone gains nothing from partitions, and a search
  // that was free to choose the tile has tried the smallest.
  const bool alone =
      std::any_of(problem.workload.graph.kernels().begin(), problem.workload.graph.kernels().end(),
                  [&](const Kernel& kernel) { return kernel.name == reason.where; });
  std::string help = "More SRAM";
  if (!alone || problem.workload.tile) help += ", a smaller tile";
  if (!alone) help += ", more partitions";
  return fmt::format(
      "SRAM: {} needs at least {}, the chip has {}: {}. {} or a larger tensor degree would help.",
      reason.where, to_text(Bytes(reason.needed)), to_text(Bytes(reason.available)),
      too_much(reason), help);
}

std::string memory_text(const Infeasible& reason) {
  return fmt::format(
      "memory: {} need {} {} on each chip, it has {}: {}. More memory, a larger pipeline or tensor "
      "degree or a smaller micro-batch would help.",
      reason.where, reason.where == "weights" ? "at least" : "in a good mapping",
      to_text(Bytes(reason.needed)), to_text(Bytes(reason.available)), too_much(reason));
}

std::string partitions_text(const Problem& problem, const Infeasible& reason) {
  if (problem.execution.style == Style::KernelByKernel && reason.needed < reason.available) {
    return fmt::format("partitions: with style kernel_by_kernel {} must be alone in partition {}.",
                       reason.where, reason.needed);
  }
  return fmt::format(
      "partitions: {} needs {} of them, {} are allowed. A larger execution.partitions would help.",
      reason.where, reason.needed, reason.available);
}

std::string pin_text(const Infeasible& reason) {
  if (reason.needed == reason.available) {
    return fmt::format("pin: {} does not keep what the config pins it to.", reason.where);
  }
  return fmt::format("pin: {} is in partition {}, the config pins it to {}.", reason.where,
                     reason.needed, reason.available);
}

std::string tile_text(const Problem& problem, const Infeasible& reason) {
  return fmt::format("tile: {}, but {} {}.", reason.needed,
                     problem.workload.tile ? "the config gives" : "the sequence is only",
                     reason.available);
}

/// "SRAM of 12 B (1 B more than 11 B)", and how sure that is.
std::string change_text(const Problem& problem, const FeasibleChange& change) {
  const auto bytes = [](double value) {
    return fmt::format("{} ({:.0f} B)", to_text(Bytes(value)), value);
  };
  const auto missing = [&] {
    return fmt::format("{} more", to_text(Bytes(change.enough - change.from)));
  };
  std::string text;
  std::string least = fmt::format("{:.0f}", change.at_least);
  switch (change.what) {
    case Raised::Memory:
      text = fmt::format("memory of {} on each chip, {}", bytes(change.enough), missing());
      least = bytes(change.at_least);
      break;
    case Raised::Sram:
      text = fmt::format("SRAM of {} on each chip, {}", bytes(change.enough), missing());
      least = bytes(change.at_least);
      break;
    case Raised::Partitions:
      text = fmt::format("{:.0f} partitions in place of {:.0f}", change.enough, change.from);
      break;
    case Raised::Degree:
      text =
          fmt::format("degree {:.0f} in place of {:.0f} of network dimension {}, on {:.0f} chips",
                      change.enough, change.from, change.dimension,
                      static_cast<double>(problem.system.chips) / change.from * change.enough);
      break;
  }
  if (!change.is_exact()) text += fmt::format(" (perhaps less, but at least {})", least);
  return text;
}

}  // namespace

std::string infeasible_text(const Problem& problem, const Infeasible& reason) {
  const auto& [resource, needed, available, where] = reason;
  switch (resource) {
    case Resource::Sram:
      return sram_text(problem, reason);
    case Resource::Memory:
      return memory_text(reason);
    case Resource::Cores:
      return fmt::format(
          "cores: {} needs at least {}, there are {}. More cores or more partitions would help.",
          where, needed, available);
    case Resource::Partitions:
      return partitions_text(problem, reason);
    case Resource::Precedence:
      return fmt::format("precedence: {} leads from partition {} back to partition {}.", where,
                         needed, available);
    case Resource::Phase:
      return fmt::format(
          "phase: {} is in partition {}, its phase of the pass ends or begins at partition {}.",
          where, needed, available);
    case Resource::Pin:
      return pin_text(reason);
    case Resource::Sharding:
      return fmt::format(
          "sharding: {} may not be sharded so: its loop has extent 1 or is tiled, another loop is "
          "forced, or a weight would be left whole.",
          where);
    case Resource::Repeat:
      return fmt::format("repeat: {} holds kernels with and without a repeat.", where);
    case Resource::Batch:
      return fmt::format(
          "batch: a micro-batch of {} times the data degree does not divide the global batch of "
          "{}, or is not the one that the config gives.",
          needed, available);
    case Resource::Tile:
      return tile_text(problem, reason);
  }
  return where;
}

std::string changes_text(const Problem& problem, const std::vector<FeasibleChange>& changes) {
  std::string text;
  for (const FeasibleChange& change : changes) {
    text += (text.empty() ? "" : "; or ") + change_text(problem, change);
  }
  if (changes.size() > 1) text += ". Each alone would do";
  return text.empty() ? text : text + ".";
}

}  // namespace dfsearch
