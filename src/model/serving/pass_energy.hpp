#pragma once
// The energy of a pass: passes over chips whose seconds are joules (docs/energy.md).

#include <array>
#include <memory>

#include "model/machine/energy.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/speculation.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Whether the energies of the chips of a pool count: it states some, and no constant power.
inline bool counts_energy(const Pool& pool) {
  return pool.machine.energy.stated() && !(pool.power > Watts{});
}

/// Passes of one structure.  Immutable; any thread.
class PassEnergy {
 public:
  PassEnergy(const Task& task, const Means& means, const Structure& structure, std::int64_t depth);

  /// Joules of all chips of the stages for one pass, at the full clock.  A share of the pass for
  /// each request of it never rises with their number.
  [[nodiscard]] EnergyWork of(const PassWork& work) const;
  /// Joules of the drafts before a pass over `requests`.
  [[nodiscard]] EnergyWork drafts(double requests) const;

 private:
  /// Chips on which the seconds of one resource are its joules, and the others take no time.
  struct OneResource {
    OneResource(const Task& task, const Means& means, const Structure& structure,
                std::int64_t depth, Joules EnergyWork::*resource);

    const Task task;
    const Pass pass;
    const Drafts drafts;
  };

  const double chips_;  ///< of a stage
  std::array<std::unique_ptr<const OneResource>, 3> resources_;
};

/// Energy for each of the tokens that a role serves in a second: `work` for one, idling chips too.
/// Never less with more work, or with fewer tokens.
Energy energy_of_token(const Pool& pool, double chips, double tokens_per_s, const EnergyWork& work);

}  // namespace dfsearch::serving
