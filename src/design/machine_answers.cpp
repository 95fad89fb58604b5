#include "design/machine_answers.hpp"

#include <cstddef>
#include <limits>
#include <utility>

#include "base/deadline.hpp"
#include "engine/search_result.hpp"
#include "engine/solve.hpp"
#include "model/kernel_rates.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {
namespace {

/// The derived quantities of a machine that determine the time of a mapping.
std::vector<double> key_of(const Machine& system, bool levels_count) {
  std::vector<double> key = {
      static_cast<double>(system.accelerator.cores), system.accelerator.frequency.in_base_units(),
      system.accelerator.sram.in_base_units(), system.memory[0].bandwidth.in_base_units(),
      system.memory[0].capacity.in_base_units()};
  for (const NetworkDimension& dimension : system.network) {
    key.push_back(dimension.bandwidth.in_base_units());
  }
  for (const OnChipLevel& level : levels_count ? system.levels : std::vector<OnChipLevel>{}) {
    key.push_back(level.share.in_base_units());
    key.push_back(level.bandwidth.in_base_units());
  }
  return key;
}

bool is_exact(const SearchResult& result) {
  return result.status == SearchStatus::Optimal || result.status == SearchStatus::Infeasible;
}

// Node limit of the first search; it grows if that does not suffice.
constexpr std::int64_t kFirstNodes = 256;
constexpr std::int64_t kMostNodes = std::numeric_limits<std::int64_t>::max();

std::int64_t more_nodes(std::int64_t nodes) {
  return nodes > kMostNodes / 8 ? kMostNodes : 8 * nodes;
}

/// Throws Stopped if a limit other than the nodes has ended the search.
void check_stop(const SearchResult& result) {
  if (result.stopped_by != StopReason::None && result.stopped_by != StopReason::Nodes) {
    throw Stopped();
  }
}

/// Searches one machine until the search is done or its lower bound is useless.  Any optimum may be
/// returned.
SearchResult search(const Problem& machine, SearchOptions options,
                    const std::shared_ptr<const Mapping>& hint, const UselessAbove& useless) {
  if (hint) options.hint = *hint;
  for (std::int64_t nodes = kFirstNodes;; nodes = more_nodes(nodes)) {
    options.limits.nodes = nodes;
    SearchResult result = solve(machine, options);
    if (is_exact(result) || useless.holds(result.lower_bound)) return result;
    check_stop(result);
  }
}

/// Searches only for a bound.  Also ends when a mapping proves that the least objective is not
/// useless and the bound is near the objective of this mapping.
SearchResult search_bound(const Problem& machine, SearchOptions options,
                          const UselessAbove& useless) {
  constexpr double kNear = 0.05;
  options.limits.gap = kNear;
  for (std::int64_t nodes = kFirstNodes;;) {
    options.limits.nodes = nodes;
    SearchResult result = solve(machine, options);
    if (result.status == SearchStatus::Infeasible || useless.holds(result.lower_bound)) {
      return result;
    }
    check_stop(result);
    const bool near = result.cost && result.gap <= options.limits.gap;
    const bool useful = result.cost && result.cost->objective * useless.slack < useless.cutoff;
    if (near && (useful || result.gap <= 0.0)) return result;
    if (near) {
      options.limits.gap = 0.0;
    } else {
      nodes = more_nodes(nodes);
    }
  }
}

}  // namespace

std::optional<Problem> machine_with(const Problem& problem, const ChipDesign& design,
                                    const Chip& chip) {
  Problem machine = problem;
  put_into(design, chip, machine.system);
  set_out_of_core_traffic(machine);
  set_array_loads(machine);
  const bool small_levels =
      problem.execution.levels && !holds_tiles(machine.system.levels, problem.workload.word);
  if (small_levels) return std::nullopt;
  return machine;
}

MachineAnswers::MachineAnswers(const SearchOptions& options, MemoryBudget& memory)
    : options_(options), memory_(memory) {}

std::optional<Score> MachineAnswers::known(const Answers& answers, const Key& key,
                                           const UselessAbove& useless) const {
  const auto found = answers.find(key);
  if (found == answers.end()) return std::nullopt;
  const Answer& answer = found->second;
  if (answer.exact || useless.holds(answer.bound)) return answer.bound;
  if (answer.reached * useless.slack < useless.cutoff) return answer.bound;
  return std::nullopt;
}

void MachineAnswers::remember(Answers& answers, Key&& key, const Answer& answer) {
  const std::size_t bytes = key.capacity() * sizeof(double) + 3 * kAllocation + 64;
  const std::lock_guard lock(mutex_);
  ++searched_;
  if (const auto found = answers.find(key); found != answers.end()) {
    // Another thread may have stored an exact answer meanwhile.
    if (!found->second.exact) found->second = answer;
    return;
  }
  if (memory_.is_tight(bytes)) return;
  answers.emplace(std::move(key), answer);
  charges_.emplace_back(&memory_, bytes);
}

Score MachineAnswers::least(const Problem& machine, const UselessAbove& useless) {
  Key key = key_of(machine.system, machine.execution.levels);
  std::shared_ptr<const Mapping> hint;
  {
    const std::lock_guard lock(mutex_);
    if (const auto score = known(answers_, key, useless)) return *score;
    hint = hint_;
  }
  const SearchResult result = search(machine, options_, hint, useless);
  Answer answer{.bound = result.lower_bound, .exact = is_exact(result)};
  if (answer.exact) answer.bound = result.cost ? result.cost->objective : Score::infinity();
  remember(answers_, std::move(key), answer);
  return answer.bound;
}

// Uses only the hint of the options: other hints would depend on the timing of threads.
Score MachineAnswers::bound(const Problem& machine, const UselessAbove& useless) {
  Key key = key_of(machine.system, machine.execution.levels);
  {
    const std::lock_guard lock(mutex_);
    if (const auto score = known(bounds_, key, useless)) return *score;
  }
  const SearchResult result = search_bound(machine, options_, useless);
  Answer answer{.bound = result.lower_bound};
  if (result.status == SearchStatus::Infeasible) answer = {Score::infinity(), true};
  if (result.cost) {
    answer.exact = result.gap <= 0.0;
    answer.reached = result.cost->objective;
  }
  remember(bounds_, std::move(key), answer);
  return answer.bound;
}

std::shared_ptr<const Mapping> MachineAnswers::best(const Problem& machine) {
  std::shared_ptr<const Mapping> hint;
  {
    const std::lock_guard lock(mutex_);
    hint = hint_;
  }
  SearchResult result = search(machine, options_, hint, {});
  auto mapping = std::make_shared<const Mapping>(std::move(*result.mapping));
  const std::lock_guard lock(mutex_);
  hint_ = mapping;
  return mapping;
}

std::int64_t MachineAnswers::searched() const {
  const std::lock_guard lock(mutex_);
  return searched_;
}

}  // namespace dfsearch
