// All solution files have this in common: a line contains the name of a column, and
// its value comes after it.
//
//   CBC       12 A(Q,2)  1  0        GLPK -o   12 A[Q,2]  *  1  0  1   (long names
//   HiGHS     A[Q,2] 1                            push the rest to the next line)
//   SCIP      A[Q,2]  1  (obj:0)     Gurobi    A[Q,2] 1
//
// So the text is read as a stream of words: a word that is a name of A, Y or S is
// looked up, and the next number is its value.  Duals, which some solvers append
// with the names again, are cut off.

#include "io/lp/lp_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "engine/search_result.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/map_reader.hpp"
#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "model/layer/sharding.hpp"
#include "model/machine/network_choices.hpp"
#include "model/scope.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

// Solvers accept integers that are off by 1e-5 or so.
constexpr double kTolerance = 1e-3;
constexpr std::size_t kLargestSolution = std::size_t{1} << 30;

std::optional<double> parse_value(std::string_view word) {
  double value = 0.0;
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<CoreGrid> parse_grid(std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto lanes = parse_index(text.substr(0, cross));
  const auto stages = parse_index(text.substr(cross + 1));
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (!lanes || !stages || *lanes < 1 || *stages < 1 || *lanes > kMost || *stages > kMost) {
    return std::nullopt;
  }
  return CoreGrid{.lanes = *lanes, .stages = *stages};
}

class SolutionReader {
 public:
  SolutionReader(const std::string& name, const DataflowGraph& graph)
      : source_(std::make_shared<const std::string>(name)),
        names_(graph),
        partition_(graph.kernel_count()),
        cores_(graph.kernel_count()),
        sharding_(graph.kernel_count()) {}

  MilpSolution read(std::string_view text) {
    int line = 0;
    while (!text.empty()) {
      ++line;
      const std::size_t end = text.find('\n');
      const std::string_view words = text.substr(0, end);
      if (words.starts_with("# Dual")) break;
      if (line == 1) check_verdict(words);
      read_line(words, line);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    MilpSolution solution;
    take("A", partition_, solution.partition);
    take("Y", cores_, solution.cores);
    take("S", sharding_, solution.sharding);
    if (messages_.count() == 0 && solution.partition.empty() && solution.sharding.empty()) {
      messages_.add(file(), "",
                    "holds no solution, expected values of columns such as A[" +
                        names_.of(KernelId(0)) + ",0]");
    }
    messages_.throw_if_any();
    return solution;
  }

 private:
  [[nodiscard]] Place file() const { return {.source = source_}; }

  /// Refuses a file without a solution, to which CBC writes its last values nevertheless.
  void check_verdict(std::string_view line) {
    if (line.starts_with("Infeasible") || line.starts_with("Integer infeasible") ||
        line.find("no integer solution") != std::string_view::npos) {
      messages_.add(file(), "", "the solver found no solution: " + in_quotes(line));
      messages_.throw_if_any();
    }
  }

  void read_line(std::string_view line, int number) {
    std::size_t at = 0;
    while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      read_word(line.substr(at, end - at),
                {.source = source_, .line = number, .column = static_cast<int>(at) + 1});
      at = end;
    }
  }

  void read_word(std::string_view word, const Place& place) {
    if (const auto name = parse_milp_name(word)) {
      pending_ = std::string(word);
      pending_place_ = place;
      return;
    }
    if (pending_.empty()) return;
    const auto value = parse_value(word);
    if (!value) return;  // the * of GLPK
    const std::string name = std::move(pending_);
    pending_.clear();
    set(name, *value);
  }

  void set(const std::string& text, double value) {
    const MilpName name = *parse_milp_name(text);
    const bool decides = name.symbol == "A" || name.symbol == "Y" || name.symbol == "S";
    const std::size_t indices = name.symbol == "Y" ? 3 : 2;
    if (!decides) return;
    if (name.indices.size() != indices) return wrong(text, "is not a column of an exported model");
    const auto kernel = names_.kernel(name.indices[0]);
    if (!kernel) return wrong(text, "the workload has no kernel " + in_quotes(name.indices[0]));
    if (std::abs(value) <= kTolerance) return;
    if (!(std::abs(value - 1.0) <= kTolerance)) {  // not a number included
      return wrong(text, fmt::format("expected 0 or 1, got {}", value));
    }
    choose(text, name, kernel->index());
  }

  void choose(const std::string& text, const MilpName& name, std::size_t kernel) {
    if (name.symbol == "S") {
      for (const LoopPair loop : {Loop::None, Loop::Outer, Loop::K, Loop::M, Loop::N}) {
        if (name.indices[1] == name_of(loop)) return put(text, sharding_[kernel], loop);
      }
      return wrong(text, "unknown loop " + in_quotes(name.indices[1]));
    }
    const auto partition = parse_index(name.indices.back());
    if (!partition || *partition < 0 || *partition > kLargestCount) {
      return wrong(text, "expected an index of a partition");
    }
    if (name.symbol == "A") return put(text, partition_[kernel], *partition);
    const auto grid = parse_grid(name.indices[1]);
    if (!grid) return wrong(text, "expected cores such as 4x2");
    put(text, cores_[kernel], *grid);
  }

  template <class T>
  void put(const std::string& text, std::optional<T>& place, const T& value) {
    if (place && !(*place == value)) {
      return wrong(text, "is 1, but another column of this kernel is 1 as well");
    }
    place = value;
  }

  void wrong(const std::string& column, const std::string& what) {
    messages_.add(pending_place_, column, what);
  }

  template <class T>
  void take(const char* symbol, const std::vector<std::optional<T>>& found,
            std::vector<T>& result) {
    const auto missing = std::find(found.begin(), found.end(), std::nullopt);
    if (missing == found.end()) {
      for (const auto& value : found) result.push_back(*value);
      return;
    }
    const bool any = std::any_of(found.begin(), found.end(), [](const auto& v) { return !!v; });
    if (!any || messages_.count() > 0) return;
    const auto kernel = static_cast<std::size_t>(missing - found.begin());
    messages_.add(file(), "",
                  fmt::format("no column {}[{},...] is 1, as other kernels have", symbol,
                              names_.of(KernelId(kernel))));
  }

  std::shared_ptr<const std::string> source_;
  MilpNames names_;
  std::vector<std::optional<std::int64_t>> partition_;
  std::vector<std::optional<CoreGrid>> cores_;
  std::vector<std::optional<LoopPair>> sharding_;
  InputMessages messages_;
  std::string pending_;  // a name that waits for its value
  Place pending_place_;
};

}  // namespace

MilpSolution parse_solution(const std::string& text, const std::string& name,
                            const DataflowGraph& graph) {
  return SolutionReader(name, graph).read(text);
}

MilpSolution load_solution(const std::filesystem::path& file, const DataflowGraph& graph) {
  return parse_solution(read_file(file, kLargestSolution), file.string(), graph);
}

namespace {

std::vector<std::string> open_keys(const Problem& problem) {
  std::vector<std::string> keys;
  for (std::size_t d = 0; d < problem.system.network.size(); ++d) {
    if (!problem.system.network[d].degree)
      keys.push_back(fmt::format("system.network.{}.degree", d));
    if (!given_strategy(problem, d)) {
      keys.push_back(fmt::format("system.network.{}.strategy", d));
    }
  }
  return keys;
}

LayerDecisions decisions_of_config(const Problem& problem) {
  const Workload& workload = problem.workload;
  std::vector<NetworkChoice> networks = network_choices(problem);
  require_network(networks);
  std::vector<std::string> open;
  if (networks.size() > 1) open = open_keys(problem);
  if (!workload.tile && workload.sequence > 1) open.emplace_back("workload.tile");
  if (problem.sharding == ShardingChoice::Joint && sharding_matters(problem, networks)) {
    open.emplace_back("the sharding (search.sharding is joint)");
  }
  if (!open.empty()) {
    std::string keys;
    for (const std::string& key : open) keys += (keys.empty() ? "" : ", ") + key;
    throw InputError(
        fmt::format("the config does not decide {}: set these keys (--set KEY=VALUE), or name a "
                    "result that has them (--mapping FILE)",
                    keys));
  }
  return {.network = std::move(networks.front()),
          .sharding = loop_sets(least_bytes_sharding(problem)),
          .micro_batch = workload.micro_batch.value_or(1),
          .tile = workload.sequence > 1 ? *workload.tile : 1};
}

/// Refuses decisions that evaluate would find infeasible with any partitions.
void check(const Problem& problem, const LayerDecisions& decisions) {
  const Workload& workload = problem.workload;
  std::vector<std::string> wrong;
  if (decisions.tile > workload.sequence || (workload.tile && *workload.tile != decisions.tile)) {
    wrong.push_back(fmt::format("tile: expected {}{}, got {}", workload.tile ? "" : "at most ",
                                workload.tile.value_or(workload.sequence), decisions.tile));
  }
  const std::int64_t data = degree_of(decisions.network, Strategy::Data);
  if (decisions.micro_batch > workload.global_batch ||
      workload.global_batch % decisions.micro_batch != 0 ||
      (workload.global_batch / decisions.micro_batch) % data != 0) {
    wrong.push_back(
        fmt::format("micro_batch: {} x data degree {} does not divide the global batch of {}",
                    decisions.micro_batch, data, workload.global_batch));
  } else if (workload.micro_batch && *workload.micro_batch != decisions.micro_batch) {
    wrong.push_back(fmt::format("micro_batch: expected {} as in the config, got {}",
                                *workload.micro_batch, decisions.micro_batch));
  }
  for (std::size_t k = 0; k < workload.graph.kernel_count(); ++k) {
    const Kernel& kernel = workload.graph.kernels()[k];
    LoopSet loops = shardable_pairs(problem, kernel);
    if (!problem.sharding_pins.empty() && problem.sharding_pins[k]) {
      loops = *problem.sharding_pins[k];
    }
    const LoopPair loop = decisions.sharding[k].front();
    if (!loops.contains(loop)) {
      wrong.push_back(
          fmt::format("sharding: {} cannot be sharded on {}", kernel.name, name_of(loop)));
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

}  // namespace

LayerDecisions given_decisions(const Problem& problem, const Mapping* mapping) {
  LayerDecisions decisions = mapping == nullptr
                                 ? decisions_of_config(problem)
                                 : LayerDecisions{.network = mapping->network,
                                                  .sharding = loop_sets(mapping->sharding),
                                                  .micro_batch = mapping->micro_batch,
                                                  .tile = mapping->tile};
  check(problem, decisions);
  return decisions;
}

Mapping mapping_of(const MilpSolution& solution, const Problem& problem, const Mapping* mapping) {
  if (solution.partition.empty() && mapping == nullptr) {
    throw InputError(
        "the solution decides the sharding (columns S) but no partitions (columns A): give "
        "the partitions of a result with --mapping FILE");
  }
  const LayerDecisions decisions = given_decisions(problem, mapping);
  Mapping result{.network = decisions.network,
                 .micro_batch = decisions.micro_batch,
                 .tile = decisions.tile,
                 .sharding = solution.sharding,
                 .partition = solution.partition.empty() ? mapping->partition : solution.partition,
                 .cores = {}};
  if (result.sharding.empty()) {
    for (const LoopSet loop : decisions.sharding) result.sharding.push_back(loop.front());
  }
  // Cores belong to the partitions for which they were allocated.
  if (!problem.execution.compute_utilization) result.cores = solution.cores;
  return result;
}

}  // namespace dfsearch
