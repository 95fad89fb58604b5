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

/// Objectives that need not be known: all above `cutoff` times `slack`, which is at least 1.
struct UselessAbove {
  Score cutoff = Score::infinity();
  double slack = 1.0;

  [[nodiscard]] bool holds(Score score) const { return score / slack > cutoff; }
};

/// Finds the best mapping onto machines that differ in their chip alone, or a bound of it, and
/// remembers the objective as long as there is memory: many splits give one machine.  Many threads
/// use it.
class MachineAnswers {
 public:
  /// `options` are used for each search, `memory` is charged for the remembered answers; both must
  /// outlive it.
  MachineAnswers(const SearchOptions& options, MemoryBudget& memory);

  /// The least objective of any mapping onto the machine; infinite: none fits.  If it is useless,
  /// any lower bound of it that is useless, too.  Throws Stopped where the limits come first.
  Score least(const Problem& machine, const UselessAbove& useless = {});

  /// A lower bound of the objectives of all mappings onto the machine, which is useless if the
  /// least one is, and otherwise near it; infinite: none fits.  It depends on the machine and on
  /// `useless` of this and earlier calls alone.  Throws Stopped.
  Score bound(const Problem& machine, const UselessAbove& useless);

  /// A mapping of the least objective, which is finite; searched anew.  Searches after it begin
  /// with it.  Throws Stopped.
  std::shared_ptr<const Mapping> best(const Problem& machine);

  /// How many machines were searched.
  [[nodiscard]] std::int64_t searched() const;

 private:
  using Key = std::vector<double>;
  struct Answer {
    Score bound{};       ///< of all mappings
    bool exact = false;  ///< one has it, or none fits
    /// The objective of a mapping, if the bound is near it; infinite: it need not be.
    Score reached = Score::infinity();
  };

  using Answers = std::map<Key, Answer>;

  [[nodiscard]] std::optional<Score> known(const Answers& answers, const Key& key,
                                           const UselessAbove& useless) const;
  /// Nothing new is remembered where memory is tight.
  void remember(Answers& answers, Key&& key, const Answer& answer);

  const SearchOptions& options_;
  MemoryBudget& memory_;
  mutable std::mutex mutex_;  // guards the members below
  Answers answers_;           // of machines that can be built
  Answers bounds_;            // of optimistic ones
  std::vector<MemoryCharge> charges_;
  std::shared_ptr<const Mapping> hint_;
  std::int64_t searched_ = 0;
};

}  // namespace dfsearch
