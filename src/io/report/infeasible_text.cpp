#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.hpp"
#include "io/report/report_parts.hpp"
#include "io/text/joined.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"

namespace dfsearch {
namespace {

std::string too_much(const Infeasible& reason) {
  const double excess = reason.needed - reason.available;
  if (reason.available <= 0.0) return "all of it too much";
  const double percent = 100.0 * excess / reason.available;
  return percent < 100.0 ? fmt::format("{} ({:.3g} %) too much", to_text(Bytes(excess)), percent)
                         : fmt::format("{} ({:.0f} %) too much", to_text(Bytes(excess)), percent);
}

/// Whether the config allows a larger degree of the strategy, on more chips if necessary.
bool may_grow(const Problem& problem, Strategy strategy) {
  const DegreeChoice& degree = problem.parallelism[static_cast<std::size_t>(strategy)];
  if (!degree.values.empty() || degree.most < DegreeChoice{}.most) return false;
  for (std::size_t d = 0; d < problem.system.network.size(); ++d) {
    if (given_strategy(problem, d).value_or(strategy) == strategy) return true;
  }
  return false;
}

/// Whether the kernel could be divided among more chips.
bool may_split(const Kernel& kernel) { return shardable_loops(kernel).back() != Loop::None; }

/// Whether SRAM would be no limit with each kernel in its own partition, as lone kernels stream.
bool streams_one_by_one(const Problem& problem) {
  return problem.execution.style == Style::Dataflow && !problem.divides_graph() &&
         problem.equations.lone_kernels == LoneKernels::Streamed;
}

/// "More SRAM, a smaller tile or a larger tensor degree would help."
std::string help_text(const std::vector<std::string>& helps) {
  return "More " + listed(helps, " or ") + " would help.";
}

std::string sram_text(const Problem& problem, const Infeasible& reason) {
  // More partitions do not help a kernel that overflows alone, and a search that
  // could choose the tile has tried the smallest.
  const std::vector<Kernel>& kernels = problem.workload.graph.kernels();
  const auto alone = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
    return kernel.name == reason.where;
  });
  const bool is_alone = alone != kernels.end();
  std::vector<std::string> helps{"SRAM"};
  if (!is_alone || problem.workload.tile) helps.emplace_back("a smaller tile");
  if (!is_alone) helps.emplace_back("more partitions");
  const bool splits =
      is_alone ? may_split(*alone) : std::any_of(kernels.begin(), kernels.end(), may_split);
  if (splits && may_grow(problem, Strategy::Tensor)) helps.emplace_back("a larger tensor degree");
  if (streams_one_by_one(problem)) {
    helps.emplace_back("kernels one by one (execution.style=kernel_by_kernel)");
  }
  return fmt::format("SRAM: {} needs at least {}, the chip has {}: {}. {}", reason.where,
                     to_text(Bytes(reason.needed)), to_text(Bytes(reason.available)),
                     too_much(reason), help_text(helps));
}

std::string memory_text(const Problem& problem, const Infeasible& reason) {
  const bool is_of_weights = reason.where == "weights";
  std::vector<std::string> helps{"memory"};
  if (problem.workload.layers > 1 && may_grow(problem, Strategy::Pipeline)) {
    helps.emplace_back("a larger pipeline degree");
  }
  if (may_grow(problem, Strategy::Tensor)) helps.emplace_back("a larger tensor degree");
  if (!is_of_weights && problem.workload.micro_batch.value_or(1) > 1) {
    helps.emplace_back("a smaller micro-batch");
  }
  return fmt::format("memory: {} need {} {} on each chip, it has {}: {}. {}", reason.where,
                     is_of_weights ? "at least" : "in a good mapping",
                     to_text(Bytes(reason.needed)), to_text(Bytes(reason.available)),
                     too_much(reason), help_text(helps));
}

std::string partitions_text(const Problem& problem, const Infeasible& reason) {
  if (problem.execution.style == Style::KernelByKernel && reason.needed < reason.available) {
    return fmt::format(
        "partitions: with 'style: kernel_by_kernel', {} must be alone in partition {}.",
        reason.where, reason.needed);
  }
  return fmt::format(
      "partitions: {} needs {} of them, {} are allowed. A larger execution.partitions would help.",
      reason.where, reason.needed, reason.available);
}

std::string pin_text(const Infeasible& reason) {
  if (reason.needed == reason.available) {
    return fmt::format("pin: {} does not have the values that the config pins.", reason.where);
  }
  return fmt::format("pin: {} is in partition {}, the config pins it to {}.", reason.where,
                     reason.needed, reason.available);
}

std::string tile_text(const Problem& problem, const Infeasible& reason) {
  return fmt::format("tile: {}, but {} {}.", reason.needed,
                     problem.workload.tile ? "the config gives" : "the sequence is only",
                     reason.available);
}

/// A change as in "SRAM of 12 B (1 B more than 11 B)", and whether less may suffice.
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
      return memory_text(problem, reason);
    case Resource::Cores:
      return fmt::format(
          "cores: {} needs at least {}, there are {}. More cores or more partitions would help.",
          where, needed, available);
    case Resource::Partitions:
      return partitions_text(problem, reason);
    case Resource::Stages:
      if (where.empty() && needed <= available) {
        return "stages: no division of the graph fits SRAM, memory and partitions. More of any of "
               "the three would help.";
      }
      if (where.empty()) {
        return fmt::format(
            "stages: the pipeline has {}, and the kernels, in an order that tensors allow, fill "
            "only {}. A smaller pipeline degree would help.",
            needed, available);
      }
      return fmt::format("stages: {} is in stage {}, its forward kernel in stage {}.", where,
                         needed, available);
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
          "sharding: {} cannot be sharded on this loop: the loop has extent 1 or is tiled, another "
          "loop is required, or a weight would remain whole.",
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
  std::string text = joined(
      changes, "; or ", [&](const FeasibleChange& change) { return change_text(problem, change); });
  if (changes.size() > 1) text += ". Each of these alone is enough";
  return text.empty() ? text : text + ".";
}

const std::vector<Shortage>& shortages_of(const Outcome& outcome) {
  static const std::vector<Shortage> none;
  if (outcome.split != nullptr) return outcome.split->shortages;
  return outcome.chip != nullptr ? outcome.chip->infeasible : none;
}

std::string budget_reason(const Outcome& outcome) {
  if (outcome.status != SearchStatus::Infeasible) return "";
  const std::string lacks = joined(shortages_of(outcome), "; ", shortage_text);
  if (outcome.split == nullptr) return lacks.empty() ? "" : "there is no such chip: " + lacks;
  const std::string none = "no split of the budgets makes a chip";
  if (!lacks.empty()) return none + "; with the largest share of each part: " + lacks;
  std::string text = none + " on which a mapping fits";
  if (outcome.infeasible == nullptr) return text;
  return text + "; with the largest value of each quantity over all splits: " +
         infeasible_text(*outcome.problem, *outcome.infeasible);
}

}  // namespace dfsearch
