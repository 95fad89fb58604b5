#pragma once
// The machine with a chip, and the best mapping onto it.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/memory_budget.hpp"
#include "base/units.hpp"
#include "engine/search_options.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// The problem on the machine with the chip, which can be built; nothing if a level of it holds no
/// tile, so that it runs nothing.
std::optional<Problem> machine_with(const Problem& problem, const ChipDesign& design,
                                    const Chip& chip);

/// Finds the best mapping onto machines that differ in their chip alone, and remembers its
/// objective as long as there is memory: many splits give one machine.  Many threads use it.
class MachineAnswers {
 public:
  /// `options` are those of each search, `memory` is charged for what is remembered; both must
  /// outlive it.
  MachineAnswers(const SearchOptions& options, MemoryBudget& memory);

  /// The least objective of any mapping onto the machine; infinite: none fits.  Throws Stopped
  /// where the limits come first.
  Score least(const Problem& machine);

  /// A mapping of the least objective, which is finite; searched anew.  Searches after it begin
  /// with it.  Throws Stopped.
  std::shared_ptr<const Mapping> best(const Problem& machine);

  /// How many machines were searched.
  [[nodiscard]] std::int64_t searched() const;

 private:
  using Key = std::vector<double>;

  const SearchOptions& options_;
  MemoryBudget& memory_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<Key, Score> known_;
  std::vector<MemoryCharge> charges_;
  std::shared_ptr<const Mapping> hint_;
  std::int64_t searched_ = 0;
};

}  // namespace dfsearch
