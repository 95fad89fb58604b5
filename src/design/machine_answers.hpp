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

/// The problem on the machine with the chip, which can be built; nothing if a level of the chip
/// holds no tile, so that it cannot run anything.
std::optional<Problem> machine_with(const Problem& problem, const ChipDesign& design,
                                    const Chip& chip);

/// Objectives that need not be exact: all above `cutoff` times `slack`, which is at least 1.
struct UselessAbove {
  Score cutoff = Score::infinity();
  double slack = 1.0;

  [[nodiscard]] bool holds(Score score) const { return score / slack > cutoff; }
};

/// Finds the best mapping onto machines that differ in their chip alone, or a bound on its
/// objective.  Objectives are remembered as long as there is memory: many splits give the same
/// machine.  Any thread.
class MachineAnswers {
 public:
  /// `options` are used for each search, `memory` is charged for the remembered answers; both must
  /// outlive it.
  MachineAnswers(const SearchOptions& options, MemoryBudget& memory);

  /// The least objective of any mapping onto the machine; infinite: none fits.  If the least
  /// objective is useless, the result may be any useless lower bound of it.  Throws Stopped if a
  /// limit ends the search.
  Score least(const Problem& machine, const UselessAbove& useless = {});

  /// A lower bound on the objectives of all mappings onto the machine: useless if the least
  /// objective is useless, otherwise near it; infinite: none fits.  It depends only on the machine
  /// and on `useless` of this and earlier calls.  Throws Stopped.
  Score bound(const Problem& machine, const UselessAbove& useless);

  /// Searches a mapping of the least objective, which must be finite, and keeps it as the hint of
  /// later searches.  Throws Stopped.
  std::shared_ptr<const Mapping> best(const Problem& machine);

  /// Number of machines that were searched.
  [[nodiscard]] std::int64_t searched() const;

 private:
  using Key = std::vector<double>;
  struct Answer {
    Score bound{};       ///< of all mappings
    bool exact = false;  ///< a mapping attains the bound, or none fits
    /// The objective of a known mapping near the bound; infinite if no such mapping is known.
    Score reached = Score::infinity();
  };

  using Answers = std::map<Key, Answer>;

  [[nodiscard]] std::optional<Score> known(const Answers& answers, const Key& key,
                                           const UselessAbove& useless) const;
  /// Stores the answer unless memory is tight.
  void remember(Answers& answers, Key&& key, const Answer& answer);

  const SearchOptions& options_;
  MemoryBudget& memory_;
  mutable std::mutex mutex_;  // guards the members below
  Answers answers_;           // of buildable machines
  Answers bounds_;            // of optimistic machines
  std::vector<MemoryCharge> charges_;
  std::shared_ptr<const Mapping> hint_;
  std::int64_t searched_ = 0;
};

}  // namespace dfsearch
