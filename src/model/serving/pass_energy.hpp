#pragma once
// The energy of a pass: passes over chips whose seconds are joules (docs/energy.md).

#include <array>
#include <memory>

#include "model/machine/energy.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/speculation.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Whether the energies of the chips of a pool count: the pool states energies, and no constant
/// power.
inline bool counts_energy(const Pool& pool) {
  return pool.machine.energy.stated() && !(pool.power > Watts{});
}

/// The energy of passes of one structure.  Immutable; any thread may use it.
class PassEnergy {
 public:
  PassEnergy(const Task& task, const Means& means, const Structure& structure, std::int64_t depth);

  /// Joules of all chips of the stages for one pass, at the full clock.  The joules for each
  /// request never rise with the number of requests.
  [[nodiscard]] EnergyWork of(const PassWork& work) const;
  /// Joules of the drafts before a pass over `requests`.
  [[nodiscard]] EnergyWork drafts(double requests) const;

 private:
  /// Chips on which the seconds of one resource are its joules, and other resources take no time.
  struct OneResource {
    OneResource(const Task& task, const Means& means, const Structure& structure,
                std::int64_t depth, Joules EnergyWork::*resource);

    const Task task;
    const Pass pass;
    const Drafts drafts;
  };

  const double chips_;  ///< chips of a stage
  std::array<std::unique_ptr<const OneResource>, 3> resources_;
};

/// Energy for a token, idle power included, if the chips of a role serve `tokens_per_s`; `work` is
/// the work for one token.  It never falls if the work grows or the tokens become fewer.
Energy energy_of_token(const Pool& pool, double chips, double tokens_per_s, const EnergyWork& work);

}  // namespace dfsearch::serving
