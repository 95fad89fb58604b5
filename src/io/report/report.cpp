// The report: workload and machine, the state of the proof, the answer from the outside in (step,
// network, partitions), then its needs and the effort of the search.

#include "io/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/units_text.hpp"
#include "engine/tree/effort.hpp"
#include "io/report/report_parts.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/text_table.hpp"
#include "model/kernel_rates.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/network_choices.hpp"
#include "model/objective_rows.hpp"
#include "model/scope.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

// The state of the proof.

/// Greatest distance of the incumbent from the optimum.
std::string distance_text(const SearchResult& result) {
  const Score bound = result.lower_bound;
  if (!(bound > Score{})) return "no lower bound is known yet";
  const double above = (result.cost->objective - bound) / bound;
  return fmt::format("at most {:.3g} % above the optimum", 100.0 * std::max(above, 0.0));
}

std::string status_text(const Outcome& outcome) {
  if (outcome.chip != nullptr && !outcome.chip->infeasible.empty()) {
    return "infeasible: no chip is possible within the budgets";
  }
  if (outcome.search == nullptr) {
    return outcome.status == SearchStatus::Feasible ? "the mapping fits"
                                                    : "the mapping does not fit";
  }
  const SearchResult& result = *outcome.search;
  return result_text(result, result.scope,
                     {.one = "a mapping",
                      .none = "no mapping",
                      .least = objective_text(outcome.problem->objective, result.lower_bound),
                      .distance = result.cost ? distance_text(result) : ""});
}

// The mapping, from the outside in.

Sheet step_lines(const Outcome& outcome) {
  const Cost& cost = *outcome.cost;
  const Problem& problem = *outcome.problem;
  const FlopsPerSecond peak = peak_of_products(problem) * static_cast<double>(problem.system.chips);
  Sheet text =
      labelled("step time", fmt::format("{} ({} s); {} of the peak of {}", to_text(cost.step_time),
                                        cost.step_time.in_base_units(), percent(cost.utilization),
                                        to_text(peak)));
  const Objective objective = outcome.problem->objective;
  if (objective != Objective::StepTime) {
    text += labelled("objective", fmt::format("{}: {}", name_of(objective),
                                              objective_text(objective, cost.objective)));
  }
  if (outcome.search != nullptr) {
    const Score bound = outcome.search->lower_bound;
    text += labelled(
        "lower bound",
        fmt::format("{} ({}{}); gap {}", objective_text(objective, bound), bound.in_base_units(),
                    objective == Objective::StepTime ? " s" : "", percent(outcome.search->gap)));
  }
  if (cost.serving) {
    const bool decode = outcome.problem->workload.serving->decode;
    text += labelled(
        "serving",
        fmt::format("{} {} ({} s)", decode ? "time per output token" : "time to first token",
                    to_text(cost.serving->latency), cost.serving->latency.in_base_units()));
  }
  return text;
}

Sheet parallelism_lines(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  const Mapping& mapping = *outcome.mapping;
  Sheet text = labelled("parallelism", parallelism_text(parallelism_of(mapping.network)));
  std::string network;
  for (std::size_t d = 0; d < mapping.network.size(); ++d) {
    network +=
        fmt::format("{}{}: {}", network.empty() ? "" : ", ",
                    topology_text(problem.system.network[d].topology, mapping.network[d].degree),
                    name_of(mapping.network[d].strategy));
  }
  return network.empty() ? text : text + labelled("network", network);
}

Sheet schedule_lines(const Outcome& outcome) {
  const Workload& workload = outcome.problem->workload;
  const Mapping& mapping = *outcome.mapping;
  const Cost* cost = outcome.cost;
  std::string batch = fmt::format("{}", mapping.micro_batch);
  if (cost != nullptr) batch += fmt::format(" ({} per step)", cost->micro_batches);
  Sheet text = labelled("micro-batch", batch);
  if (workload.sequence > 1) {
    const std::int64_t tiles = tile_count(workload, mapping.tile);
    text +=
        labelled("tile", fmt::format("at most {} of {}: {} of {}", mapping.tile, workload.sequence,
                                     plural(tiles, "tile"), ceil_div(workload.sequence, tiles)));
  }
  if (cost == nullptr || !cost->stages.empty()) return text;
  std::string stages = fmt::format("{} per stage; bubble factor {:.4g}",
                                   plural(cost->layers_per_stage, "layer"), cost->bubble_factor);
  if (cost->pipeline_transfer > Seconds{}) {
    stages += fmt::format("; {} per step from stage to stage", to_text(cost->pipeline_transfer));
  }
  return text + labelled("stages", stages);
}

std::vector<std::string> kernel_words(const Outcome& outcome, const PartitionCost& partition) {
  std::vector<std::string> words;
  for (const KernelId kernel : partition.kernels) {
    std::string word = outcome.problem->workload.graph.kernel(kernel).name;
    if (!outcome.cost->cores.empty()) {
      const CoreGrid& grid = outcome.cost->cores[kernel.index()];
      word += fmt::format("[{}x{}]", grid.lanes, grid.stages);
    }
    words.push_back(std::move(word));
  }
  return words;
}

std::string binding_text(const TimeShares& shares) {
  std::array<std::pair<double, StepBound>, 5> parts = {{{shares.compute, StepBound::Compute},
                                                        {shares.memory, StepBound::Memory},
                                                        {shares.network, StepBound::Network},
                                                        {shares.bubble, StepBound::Bubble},
                                                        {shares.transfer, StepBound::Transfer}}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto part_text = [](const auto& part) {
    return part.first > 0.0 ? fmt::format("{} {}", name_of(part.second), percent(part.first)) : "";
  };
  return joined(parts, ", ", part_text) + " of the step time";
}

Sheet stage_lines(const Outcome& outcome) {
  if (outcome.cost->stages.empty()) return "";
  TextTable table({"stage", "partitions", "transfer", "time", "memory", "kernels"});
  std::size_t number = 0;
  for (const StageCost& stage : outcome.cost->stages) {
    std::vector<std::string> names;
    for (const KernelId kernel : stage.kernels) {
      names.push_back(outcome.problem->workload.graph.kernel(kernel).name);
    }
    table.add({std::to_string(number++), to_text(stage.work), to_text(stage.transfer),
               to_text(stage.time), to_text(stage.weights + stage.activations)},
              names);
  }
  return TitledTable{"stages, for one sample", std::move(table)};
}

/// The unit of work of the table of partitions.
const char* unit_of(const Workload& workload) {
  if (is_dlrm(workload.kind)) return "one batch of a chip";
  const bool is_whole = workload.kind == WorkloadKind::Hpl || workload.kind == WorkloadKind::Fft;
  return is_whole ? "one pass over all kernels" : "one layer and one sample";
}

/// A table of at least this number of rows merges equal rows.
constexpr std::size_t kLongTable = 16;

Sheet partition_lines(const Outcome& outcome) {
  const Cost& cost = *outcome.cost;
  const bool with_cores = !cost.cores.empty();
  TextTable table({"#", "compute", "memory", "network", "time", "bound by", "SRAM",
                   with_cores ? "kernels [lanes x stages of cores]" : "kernels"});
  Seconds compute{};
  Seconds memory{};
  Seconds network{};
  bool has_pieces = false;
  const auto number_of = [&](const PartitionCost& partition) {
    return std::to_string(outcome.mapping->partition[partition.kernels.front().index()]);
  };
  const auto figures_of = [](const PartitionCost& partition) {
    return std::vector<std::string>{
        to_text(partition.compute),  to_text(partition.memory),
        to_text(partition.network),  to_text(partition.time),
        name_of(partition.bound_by), to_text(partition.sram) + (partition.pieces > 1.0 ? "*" : "")};
  };
  for (std::size_t i = 0; i < cost.partitions.size();) {
    const std::vector<std::string> figures = figures_of(cost.partitions[i]);
    // Equal rows of a long table that follow each other become one.
    std::size_t end = i + 1;
    if (cost.partitions.size() > kLongTable) {
      while (end < cost.partitions.size() && figures_of(cost.partitions[end]) == figures) ++end;
    }
    std::vector<std::string> cells = {number_of(cost.partitions[i])};
    std::vector<std::string> kernels = kernel_words(outcome, cost.partitions[i]);
    if (end - i > 1) {
      cells.front() += "-" + number_of(cost.partitions[end - 1]);
      kernels.emplace_back("...");
      const auto last = kernel_words(outcome, cost.partitions[end - 1]);
      kernels.insert(kernels.end(), last.begin(), last.end());
      kernels.push_back(fmt::format("({} alike)", end - i));
    }
    cells.insert(cells.end(), figures.begin(), figures.end());
    table.add(std::move(cells), std::move(kernels));
    for (; i < end; ++i) {
      const PartitionCost& partition = cost.partitions[i];
      compute += partition.compute;
      memory += partition.memory;
      network += partition.network;
      has_pieces = has_pieces || partition.pieces > 1.0;
    }
  }
  table.add({"sum", to_text(compute), to_text(memory), to_text(network), to_text(cost.layer_time),
             "", ""},
            {});
  return TitledTable{fmt::format("partitions, for {}", unit_of(outcome.problem->workload)),
                     std::move(table),
                     has_pieces ? "* fits because its weight is loaded piece by piece\n" : ""} +
         Sheet("\n") + labelled("bound by", binding_text(cost.shares));
}

// Needs of the mapping.

std::optional<double> tokens_of(const Cost& cost) {
  if (!cost.tokens_per_second) return std::nullopt;
  return *cost.tokens_per_second * cost.step_time.in_base_units();
}

Sheet intensity_line(const Cost& cost) {
  std::string text;
  const auto add = [&text](double intensity, std::string_view where) {
    if (intensity <= 0.0) return;
    text += fmt::format("{}{:.4g} FLOP for a byte {}", text.empty() ? "" : ", ", intensity, where);
  };
  add(cost.memory_intensity, "of memory traffic");
  add(cost.network_intensity, "on the network");
  return text.empty() ? text : labelled("intensity", text);
}

/// SRAM for the largest partition of several kernels beside all weights of its stage, if these
/// weights stay in the SRAM from step to step; a kernel alone streams through the remaining SRAM.
// docs/model.md, section 12
Bytes sram_beside_weights(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  const Mapping& mapping = *outcome.mapping;
  const LayerCosts costs(problem, {.network = mapping.network,
                                   .sharding = loop_sets(mapping.sharding),
                                   .micro_batch = mapping.micro_batch,
                                   .tile = mapping.tile});
  if (problem.equations.weight_traffic != WeightTraffic::PerStep) return {};
  const Cost& cost = *outcome.cost;
  std::vector<StageCost> stages = cost.stages;
  if (stages.empty()) stages.push_back({.kernels = {}, .weights = cost.weights});
  Bytes most{};
  for (const PartitionCost& partition : cost.partitions) {
    if (partition.kernels.size() < 2) continue;
    Bytes beside = partition.sram;
    for (const KernelId k : partition.kernels) beside -= costs.resident_weight(k);
    for (const StageCost& stage : stages) {
      const auto& of_stage = stage.kernels;
      const bool is_here =
          of_stage.empty() ||
          std::find(of_stage.begin(), of_stage.end(), partition.kernels.front()) != of_stage.end();
      if (is_here && !costs.loads_weights(of_stage)) most = std::max(most, beside + stage.weights);
    }
  }
  return most;
}

Sheet capacity_lines(const Outcome& outcome) {
  const Cost& cost = *outcome.cost;
  const Machine& system = outcome.problem->system;
  Bytes sram{}, in_pieces{};
  for (const PartitionCost& partition : cost.partitions) {
    Bytes& most = partition.pieces == 1.0 ? sram : in_pieces;
    most = std::max(most, partition.sram);
  }
  const Bytes chip = system.accelerator.sram;
  std::string held =
      fmt::format("at most {} of {} ({})", to_text(sram), to_text(chip), percent(sram / chip));
  if (in_pieces > Bytes{}) {
    held += fmt::format("; partitions with * take up to {}, piece by piece", to_text(in_pieces));
  }
  if (const Bytes all = sram_beside_weights(outcome); all > chip) {
    held += fmt::format(
        "; {} with the weights of other partitions and layers, which stay in SRAM although this "
        "model does not count them",
        to_text(all));
  }
  Sheet text = labelled("SRAM", held);
  const Bytes used = cost.weights + cost.activations + cost.stored;
  const Bytes capacity = system.memory_capacity();
  const std::string limit =
      capacity < Bytes::infinity()
          ? fmt::format("of {} ({})", to_text(capacity), percent(used / capacity))
          : "without a limit";
  std::string parts =
      fmt::format("{} weights + {} activations", to_text(cost.weights), to_text(cost.activations));
  if (cost.stored > Bytes{}) parts += fmt::format(" + {} stored data", to_text(cost.stored));
  text += labelled("memory", fmt::format("{} = {} {}{}", parts, to_text(used), limit,
                                         cost.spilled ? "; the second tier is in use" : ""));
  const std::vector<std::string_view> missing = not_counted_in_memory(*outcome.problem);
  if (!missing.empty()) {
    // Only models described by rule have plans.
    const bool has_plan = outcome.problem->workload.counts.has_value();
    text += labelled(
        "",
        fmt::format(
            "not counted: {}{}", fmt::join(missing, ", "),
            has_plan ? "; a plan of a training step counts all of these: --set training={}" : ""));
  }
  return text + intensity_line(cost) + energy_line(cost.energy, tokens_of(cost));
}

std::string memory_text(const SearchResult& search) {
  std::string text = "at most " + to_text(search.memory_used);
  if (search.memory_limit < Bytes::infinity()) text += " of " + to_text(search.memory_limit);
  return text + " kept";
}

Sheet space_line(const Problem& problem) {
  return labelled("space", fmt::format("10^{:.2f} mappings of a layer; how many of them fit is not "
                                       "counted",
                                       design_space(problem).total()));
}

Sheet search_lines(const SearchResult& search) {
  const SearchStats& stats = search.stats;
  return labelled(
      "search",
      fmt::format("{} in {} on {}; {} of network, tile and micro-batch, {} closed by their bound; "
                  "{} ideals; "
                  "pruned {} by bound, {} by dominance, {} by capacity; {}",
                  plural(stats.nodes, "node"), to_text(stats.time), plural(stats.threads, "thread"),
                  plural(stats.outer_points, "choice"), stats.outer_points_closed(), stats.ideals,
                  stats.pruned_by_bound, stats.pruned_by_dominance, stats.pruned_by_capacity,
                  memory_text(search)));
}

/// Effort of the counted parts of a search, after a long one or with details.
Sheet efforts_table(const SearchResult& search, bool with_details) {
  constexpr Seconds kLong{10.0};
  if (!with_details && search.stats.time < kLong) return "";
  TextTable table({"part", "calls", "CPU time", "found", ""});
  bool any = false;
  for (const SearchBoundName& part : kSearchBounds) {
    const Effort& effort = search.efforts[static_cast<std::size_t>(part.bound)];
    if (effort.calls == 0) continue;
    any = true;
    table.add({std::string(part.name), std::to_string(effort.calls), to_text(effort.time),
               std::to_string(effort.finds)},
              {std::string(part.finds)});
  }
  return any ? Sheet(TitledTable{"", std::move(table)}) : Sheet();
}

Sheet effort_rule_table(bool with_details) {
  if (!with_details) return {};
  TextTable table({"beside the tree", "after work", "share at first", "then", "slice", "ends"});
  for (const EffortRow& row : kEffortTable) {
    table.add(
        {std::string(row.name), std::to_string(row.after), fmt::format("1/{}", row.first_divisor),
         fmt::format("1/{}", row.divisor), std::to_string(row.slice)},
        {std::string(row.ends)});
  }
  return TitledTable{"", std::move(table)};
}

std::string splits_text(const DesignResult& split) {
  return fmt::format("{} of the budgets; {} halved, {} searched", to_exact_text(split.splits),
                     split.boxes == 1 ? "1 box" : fmt::format("{} boxes", split.boxes),
                     plural(split.machines, "machine"));
}

/// The best splits, if more than one was requested.
Sheet splits_table(const Outcome& outcome) {
  const std::vector<FoundSplit>& best = outcome.split->best;
  if (best.size() < 2 || !best.front().chip) return "";
  TextTable table({"#", "step time", "slower", "split"});
  std::int64_t rank = 0;
  for (const FoundSplit& found : best) {
    const std::string number = std::to_string(++rank);
    const bool proved = found.status == SearchStatus::Optimal;
    if (!found.chip) {
      const bool none = found.status == SearchStatus::Infeasible;
      table.add(
          {number, none ? "-" : "> " + to_text(Seconds(found.lower_bound.in_base_units())), ""},
          {none ? "no other split fits" : "not found: a limit or signal ended the search first"});
      continue;
    }
    const Score first = best.front().objective;
    table.add({number, to_text(Seconds(found.objective.in_base_units())),
               percent((found.objective - first) / first)},
              words_of(split_text(*outcome.design, *found.chip) + (proved ? "" : "; not proved")));
  }
  return TitledTable{"best splits", std::move(table)};
}

/// The reason why nothing fits and the changes that would help, as far as they were found within
/// the limits.
Sheet reason_lines(const Outcome& outcome) {
  if (const std::string text = budget_reason(outcome); !text.empty()) {
    return labelled("reason", text);
  }
  if (outcome.infeasible == nullptr) {
    if (outcome.search == nullptr) return "";  // the rules that it breaks are printed below
    return labelled("reason", "not found: a limit or signal ended the search first");
  }
  Sheet text = labelled("reason", infeasible_text(*outcome.problem, *outcome.infeasible));
  if (outcome.search == nullptr) return text;
  std::string changes = changes_text(*outcome.problem, outcome.search->changes);
  if (!outcome.search->explained) {
    changes += changes.empty() ? "" : " ";
    changes += "A limit or signal ended the search before all changes were tried.";
  }
  if (changes.empty()) return text;
  const Scope& scope = outcome.search->scope;
  return text +
         labelled("would fit", (scope.empty() ? "" : "with " + names_of(scope) + ", ") + changes);
}

}  // namespace

Sheet report_text(const Outcome& outcome, const std::string& title, bool with_details) {
  Sheet text = title_line(title);
  text += asked_text(*outcome.problem);
  if (outcome.split != nullptr) {
    text += labelled("splits", splits_text(*outcome.split));
  }
  if (outcome.chip != nullptr) {
    text += "\n" + chip_table(*outcome.design, *outcome.chip, outcome.problem->system);
  }
  text += "\n" + labelled("result", status_text(outcome));
  if (outcome.search != nullptr) {
    text += scope_line(*outcome.search, outcome.problem->objective);
  }
  if (outcome.chip != nullptr && !outcome.chip->infeasible.empty()) return text;
  if (outcome.status == SearchStatus::Infeasible) text += reason_lines(outcome);
  if (outcome.cost != nullptr) text += step_lines(outcome);
  if (outcome.search != nullptr) text += ranking_text(outcome.problem->objective, *outcome.search);
  if (outcome.mapping != nullptr) {
    text += "\n" + parallelism_lines(outcome) + schedule_lines(outcome);
  }
  if (outcome.cost != nullptr) {
    text += stage_lines(outcome) + partition_lines(outcome) +
            sharding_lines(*outcome.problem, *outcome.mapping);
    const Cost& cost = *outcome.cost;
    text += "\n" + capacity_lines(outcome);
    if (cost.tokens_per_second) {
      text += rate_line(*cost.tokens_per_second, outcome.problem->system.chips, cost.price);
    }
    text += price_lines(cost);
  }
  if (outcome.split != nullptr) {
    text += splits_table(outcome) + gains_text(outcome.split->gains) + "\n";
  }
  if (outcome.search != nullptr) {
    text += space_line(*outcome.problem) + search_lines(*outcome.search) +
            efforts_table(*outcome.search, with_details) + effort_rule_table(with_details);
  }
  return text;
}

}  // namespace dfsearch
