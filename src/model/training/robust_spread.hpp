#pragma once
// The layers of the stages that lose least in any of several scenarios (docs/search.md,
// section 15).

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/training/stages.hpp"

namespace dfsearch::training {

/// Stages with the times of one scenario, and the step that its own best plan takes.
struct SpreadScenario {
  StageLimits limits;  ///< memory is the same in all scenarios
  Seconds best{};
};

struct RobustSpread {
  std::vector<std::int64_t> layers;
  double ratio = 0.0;  ///< step / best, the greatest of all scenarios
};

/// The spread of the least ratio, exactly, if that is at most `most`: nothing if none that fits is.
/// The division found of several does not depend on `most`.  If layers are `given` no other division
/// is tried; stages of several chunks have layers of chunked_stages.hpp.  Throws Stopped after the
/// deadline of the limits.
std::optional<RobustSpread> spread_robustly(std::int64_t stages, const LayerOrder& order,
                                            const std::vector<SpreadScenario>& scenarios,
                                            double most,
                                            const std::vector<std::int64_t>& given = {},
                                            std::int64_t chunks = 1);

}  // namespace dfsearch::training
