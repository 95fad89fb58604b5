// HPL, FFT and collectives in closed form on the machine of a config, and placements on a mesh.

#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/outputs.hpp"
#include "io/config/config_network.hpp"
#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_table.hpp"
#include "model/hpc/machine_rates.hpp"
#include "model/machine/mesh_placement.hpp"
#include "model/machine/peaks.hpp"

namespace dfsearch {
namespace {

/// The machine of the config, whose open degrees follow from its chips.  Throws InputError.
Machine whole_machine(const CommandLine& line) {
  Config config = load_machine_config(line.config, line.overrides);
  Machine machine = std::move(config.problem.system);
  if (config.design) throw InputError(line.config + ": technology: expected a chip without one");
  restrict_to_one_copy(machine, 1);
  std::int64_t left = machine.chips;
  NetworkDimension* open = nullptr;
  for (NetworkDimension& dimension : machine.network) {
    if (!dimension.degree && open == nullptr) {
      open = &dimension;
    } else {
      left /= std::max<std::int64_t>(1, dimension.degree.value_or(1));
    }
  }
  if (open != nullptr) open->degree = std::max<std::int64_t>(1, left);
  if (members_of(machine.network) != machine.chips) {
    throw InputError(fmt::format("{}: network: the product of its degrees is {}, expected {} chips",
                                 line.config, members_of(machine.network), machine.chips));
  }
  return machine;
}

/// The peak of a format.  Without stated peaks, all formats have the peak of the cores.
StatedPeak stated(const Machine& machine, Math math, bool elementwise) {
  if (!machine.peaks.stated()) return {.rate = machine.accelerator.peak()};
  const auto peak =
      elementwise ? elementwise_peak(machine.peaks, math) : product_peak(machine.peaks, math);
  if (peak) return *peak;
  throw InputError(
      fmt::format("system.peaks: none for {}, expected vector.{}", name_of(math), name_of(math)));
}

std::string name_of_peak(const Machine& machine, const StatedPeak& peak) {
  const std::string name = machine.peaks.stated() ? peak.name() : "the cores, as of 16 bits,";
  return fmt::format("{} of {}", name, to_text(peak.rate));
}

std::string lines_of(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text;
  for (const auto& [label, line] : rows) text += fmt::format("{:<14}{}\n", label, line);
  return text;
}

/// All grids of the chips, and the grid of slightly fewer chips that is the nearest to a square.
std::vector<HplGrid> grids_of(const HpcLine& asked, std::int64_t chips) {
  if (asked.grid) return {*asked.grid};
  std::vector<HplGrid> grids = {squarest_grid(chips)};
  for (const std::int64_t p : divisors(chips)) grids.push_back({p, chips / p});
  return grids;
}

}  // namespace

int run_hpl(const CommandLine& line) {
  check_output(line.json);
  const Machine machine = whole_machine(line);
  const HpcLine& asked = line.hpc;
  const StatedPeak peak = stated(machine, Math::Fp64, false);
  const FlopsPerSecond product = asked.rate > FlopsPerSecond{} ? asked.rate : peak.rate;
  if (asked.grid && asked.grid->p * asked.grid->q > machine.chips) {
    throw InputError(fmt::format("--grid: {} x {} are more than the {} chips", asked.grid->p,
                                 asked.grid->q, machine.chips));
  }
  HplChoices choices{
      .blocks = asked.blocks, .grids = grids_of(asked, machine.chips), .lookahead = {true, false}};
  if (choices.blocks.empty()) {
    for (std::int64_t block = 64; block <= 2048; block += 64) choices.blocks.push_back(block);
  }
  if (*std::min_element(choices.blocks.begin(), choices.blocks.end()) > asked.n) {
    throw InputError(fmt::format("--n: {} is less than any block, expected at least {}", asked.n,
                                 *std::min_element(choices.blocks.begin(), choices.blocks.end())));
  }
  if (product > peak.rate) {
    throw InputError(fmt::format("--rate: expected at most the peak, {}, got {}",
                                 to_text(peak.rate), to_text(product)));
  }
  if (asked.lookahead) choices.lookahead = {*asked.lookahead};
  const HplRun given{.n = asked.n};
  const Bytes capacity = machine.memory_capacity();
  const auto best =
      best_hpl(given, hpl_rates(machine, product), choices, hpl_network(machine), capacity);
  if (!best) {
    throw InputError(
        fmt::format("--n: a matrix of {} x {} words of 8 B does not fit into the "
                    "memory of {} chips of {}",
                    asked.n, asked.n, machine.chips, to_text(capacity)));
  }
  const auto& [run, node, time, rates] = *best;
  const FlopsPerSecond reached = hpl_flops(run.n) / time.time;
  const double share = reached / (peak.rate * number(machine.chips));
  const Json json = {{"config", title_of(line)},
                     {"n", run.n},
                     {"block", run.block},
                     {"grid", {run.p, run.q}},
                     {"node_grid", {node.p, node.q}},
                     {"lookahead", run.lookahead},
                     {"time", number(time.time)},
                     {"flop_per_s", number(reached)},
                     {"utilization", json_number(share)},
                     {"steps", time.steps},
                     {"steps_waiting_for_panel", time.waits},
                     {"memory", number(hpl_bytes(run))}};
  const std::string text = lines_of(
      {{"HPL", fmt::format("{} x {} of fp64 on {}", run.n, run.n, plural(machine.chips, "chip"))},
       {"peak", name_of_peak(machine, peak)},
       {"result", asked.grid && !asked.blocks.empty() ? "the given grid and blocks"
                                                      : "the best of all grids and blocks"},
       {"time", fmt::format("{} ({} s)", to_text(time.time), time.time.in_base_units())},
       {"rate", fmt::format("{}, {} of the peak", to_text(reached), percent(share))},
       {"grid", fmt::format("P {} x Q {}, {} x {} in a node", run.p, run.q, node.p, node.q)},
       {"block", std::to_string(run.block)},
       {"lookahead", fmt::format("{}; {} of {} steps wait for the panel", run.lookahead ? "1" : "0",
                                 time.waits, time.steps)},
       {"memory", fmt::format("{} of {} of a chip", to_text(hpl_bytes(run)), to_text(capacity))}});
  write_json_or(line.json, json_text(json), text);
  return kProved;
}

int run_fft(const CommandLine& line) {
  check_output(line.json);
  const Machine machine = whole_machine(line);
  const HpcLine& asked = line.hpc;
  const Math math = asked.element > Bytes(8.0) ? Math::Fp64 : Math::Fp32;
  const StatedPeak peak = stated(machine, math, true);
  FftTask task = fft_task(machine, asked.sides, asked.element, peak.rate);
  task.is_real = asked.real;
  if (asked.fast > Bytes{}) task.fast = asked.fast;
  if (asked.repack) task.repack = static_cast<double>(*asked.repack);
  const FftNetwork network{.axes = axes_of(machine)};
  const auto best = best_fft(task, network, !asked.transposed, asked.layout);
  if (!best) {
    throw InputError(
        fmt::format("--points: no layout has a part for each of {} chips, expected "
                    "larger sides or fewer chips",
                    machine.chips));
  }
  const Bytes bytes = fft_local_bytes(task);
  if (bytes > machine.memory_capacity()) {
    throw InputError(fmt::format("--points: {} of a chip do not fit into its memory of {}",
                                 to_text(bytes), to_text(machine.memory_capacity())));
  }
  const Seconds bound = fft_bound(task, machine.accelerator.sram, network);
  if (bound > best->time * (1.0 + 1e-9)) throw InternalError("an FFT is faster than its bound");
  std::vector<std::int64_t> passes;
  std::string words;
  for (const std::int64_t side : task.sides) {
    passes.push_back(fft_passes(side, task.fast, task.element));
    words += fmt::format("{}{}", words.empty() ? "" : " + ", passes.back());
  }
  const bool is_pencil = best->layout == FftLayout::Pencil;
  const Json json = {{"config", title_of(line)},
                     {"size", task.sides},
                     {"layout", name_of(best->layout)},
                     {"grid", {best->p, best->q}},
                     {"passes", passes},
                     {"exchanges", best->exchanges.size()},
                     {"local_time", number(fft_local_time(task))},
                     {"time", number(best->time)},
                     {"lower_bound", number(bound)}};
  const std::string text = lines_of(
      {{"FFT", fmt::format("{} on {}, {} each", fmt::join(task.sides, " x "),
                           plural(machine.chips, "chip"), to_text(bytes))},
       {"peak", name_of_peak(machine, peak)},
       {"time", fmt::format("{} ({} s)", to_text(best->time), best->time.in_base_units())},
       {"lower bound",
        fmt::format("{}: memory, butterflies and links, whatever the layout", to_text(bound))},
       {"layout", is_pencil ? fmt::format("pencils on {} x {} chips", best->p, best->q) : "slabs"},
       {"passes", fmt::format("{} through memory, and {} to pack", words, task.repack)},
       {"local", to_text(fft_local_time(task))},
       {"exchanges", std::to_string(best->exchanges.size())}});
  write_json_or(line.json, json_text(json), text);
  return kProved;
}

namespace {

/// A way to run a collective.
struct Way {
  std::string name;
  Seconds time;
};

using collective::Kind;

/// Least share of the bytes that each chip sends or receives, by which NCCL defines its bus
/// bandwidth.
double bus_share(Kind kind, double n) {
  switch (kind) {
    case Kind::AllReduce:
      return 2.0 * (n - 1.0) / n;
    case Kind::AllGather:
    case Kind::ReduceScatter:
    case Kind::AllToAll:
      return (n - 1.0) / n;
    default:
      return 1.0;
  }
}

/// Shares of links that flat rings of NCCL reach: docs/collectives.md (10).
constexpr double kShareInside = 0.75;
constexpr double kShareOutside = 0.82;

void add_two_levels(const std::vector<collective::Axis>& axes, Kind kind, Bytes bytes,
                    std::vector<Way>& ways) {
  if (axes.size() != 2 || axes[0].topology != Topology::Switch ||
      axes[1].topology != Topology::Switch) {
    return;
  }
  const collective::TwoLevels levels{.n_in = axes[0].n,
                                     .n_out = axes[1].n,
                                     .inside = axes[0].link,
                                     .outside = axes[1].link,
                                     .share_in = kShareInside,
                                     .share_out = kShareOutside};
  const Seconds inside = axes[0].alpha, outside = axes[1].alpha;  // latency of a hop
  if (kind == Kind::AllToAll) {
    ways.push_back(
        {"over rails alone", collective::rail_only_all_to_all(levels, bytes) + inside + outside});
    return;
  }
  if (kind == Kind::Broadcast) return;
  const double between = levels.n_out - 1.0;
  const Seconds ring = collective::flat_ring(levels, bytes) +
                       (levels.n_in - 1.0) * levels.n_out * inside + between * outside;
  ways.push_back({"flat rings of NCCL", (kind == Kind::AllReduce ? 2.0 : 1.0) * ring});
  if (kind == Kind::AllReduce) {
    ways.push_back({"SHARP in the network", collective::sharp_network(levels, bytes) +
                                                2.0 * ((levels.n_in - 1.0) * inside + outside)});
  }
}

std::vector<Way> ways_of(const std::vector<collective::Axis>& axes, const HpcLine& asked) {
  const Bytes bytes = asked.bytes;
  std::vector<Way> ways;
  switch (asked.operation) {
    case Kind::AllReduce:
      ways.push_back({"all axes at once", collective::all_reduce(axes, bytes)});
      ways.push_back({"axis after axis", 2.0 * collective::gather_in_turn(axes, bytes)});
      break;
    case Kind::AllGather:
    case Kind::ReduceScatter:
      ways.push_back({"all axes at once", collective::gather_at_once(axes, bytes)});
      ways.push_back({"axis after axis", collective::gather_in_turn(axes, bytes)});
      break;
    case Kind::AllToAll:
      ways.push_back({"all axes at once", collective::all_to_all(axes, bytes)});
      break;
    case Kind::Broadcast:
      ways.push_back({"all axes at once", collective::broadcast(axes, bytes)});
      break;
  }
  for (Way& way : ways) way.time += collective::latency(axes, asked.operation);
  add_two_levels(axes, asked.operation, bytes, ways);
  if (!asked.nccl.empty() && axes.size() == 1 && asked.operation != Kind::Broadcast) {
    collective::NcclShares shares = *collective::nccl_shares(asked.nccl);
    shares.link = axes[0].link;
    ways.push_back({"NCCL as measured on " + asked.nccl,
                    collective::nccl_time(shares, asked.operation, axes[0].n, bytes)});
  }
  return ways;
}

}  // namespace

int run_collective(const CommandLine& line) {
  check_output(line.json);
  const Machine machine = whole_machine(line);
  const HpcLine& asked = line.hpc;
  const std::vector<collective::Axis> axes = axes_of(machine);
  const double n = number(machine.chips);
  if (axes.empty()) throw InputError(line.config + ": chips: expected several");
  if (!asked.nccl.empty() && axes.size() != 1) {
    throw InputError("--nccl: measured within one node, expected a system of one switch");
  }
  Seconds bound{};
  if (asked.operation != Kind::AllToAll && asked.operation != Kind::Broadcast) {
    bound = collective::gather_bound(axes, asked.bytes, n);
    if (asked.operation == Kind::AllReduce) bound = 2.0 * bound;
  }
  Json list = Json::array();
  TextTable table({"algorithm", "time", "bus bandwidth", ""});
  for (const Way& way : ways_of(axes, asked)) {
    const BytesPerSecond bus = asked.bytes * bus_share(asked.operation, n) / way.time;
    list.push_back(
        {{"algorithm", way.name}, {"time", number(way.time)}, {"bus_bandwidth", number(bus)}});
    table.add({way.name, to_text(way.time), to_text(bus)}, {});
  }
  const Json json = {{"config", title_of(line)},     {"operation", name_of(asked.operation)},
                     {"bytes", number(asked.bytes)}, {"members", machine.chips},
                     {"lower_bound", number(bound)}, {"algorithms", std::move(list)}};
  std::string text = fmt::format("{} of {} among {} chips\n\n", name_of(asked.operation),
                                 to_text(asked.bytes), machine.chips) +
                     table.text();
  if (bound > Seconds{}) {
    text += fmt::format("\nno algorithm in less than {}, unless switches add up\n", to_text(bound));
  }
  write_json_or(line.json, json_text(json), text);
  return kProved;
}

namespace {

struct LoadedPlacement {
  MeshPlacement placement;
  MeshLoads loads;

  /// Time of all axes in sequence, each limited by the links that its own groups share.
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
