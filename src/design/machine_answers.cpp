#include "design/machine_answers.hpp"

#include <utility>

#include "engine/solve.hpp"
#include "model/layer/level_traffic.hpp"

namespace dfsearch {
namespace {

/// All that a mapping's time depends on of the derived part of a machine.
std::vector<double> key_of(const System& system, bool levels_count) {
  std::vector<double> key = {
      static_cast<double>(system.accelerator.cores), system.accelerator.frequency.in_base_units(),
      system.accelerator.sram.in_base_units(), system.memory.bandwidth.in_base_units(),
      system.memory.capacity.in_base_units()};
  for (const NetworkDimension& dimension : system.network) {
    key.push_back(dimension.bandwidth.in_base_units());
  }
  for (const OnChipLevel& level : levels_count ? system.levels : std::vector<OnChipLevel>{}) {
    key.push_back(level.share.in_base_units());
    key.push_back(level.bandwidth.in_base_units());
  }
  return key;
}

/// The search for one machine, told with a mapping onto another one.
SearchResult searched_from(const Problem& machine, SearchOptions options,
                           const std::shared_ptr<const Mapping>& hint) {
  if (hint) options.hint = *hint;
  SearchResult result = solve(machine, options);
  if (result.status == SearchStatus::Feasible || result.status == SearchStatus::NoSolution) {
    throw Stopped();
  }
  return result;
}

}  // namespace

std::optional<Problem> machine_with(const Problem& problem, const ChipDesign& design,
                                    const Chip& chip) {
  Problem machine = problem;
  put_into(design, chip, machine.system);
  const bool small_levels =
      problem.execution.levels && !holds_tiles(machine.system.levels, problem.workload.word);
  if (small_levels) return std::nullopt;
  return machine;
}

MachineAnswers::MachineAnswers(const SearchOptions& options, MemoryBudget& memory)
    : options_(options), memory_(memory) {}

Score MachineAnswers::least(const Problem& machine) {
  Key key = key_of(machine.system, machine.execution.levels);
  std::shared_ptr<const Mapping> hint;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    hint = hint_;
  }
  const SearchResult result = searched_from(machine, options_, hint);
  const Score least = result.cost ? result.cost->objective : Score::infinity();
  const std::size_t bytes = key.capacity() * sizeof(double) + 3 * kAllocation + 64;
  const std::lock_guard lock(mutex_);
  ++searched_;
  if (memory_.is_tight(bytes)) return least;
  if (known_.emplace(std::move(key), least).second) charges_.emplace_back(&memory_, bytes);
  return least;
}

std::shared_ptr<const Mapping> MachineAnswers::best(const Problem& machine) {
  std::shared_ptr<const Mapping> hint;
  {
    const std::lock_guard lock(mutex_);
    hint = hint_;
  }
  SearchResult result = searched_from(machine, options_, hint);
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
