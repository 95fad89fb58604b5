#pragma once
// The answer of one point of a study.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/words.hpp"
#include "study/figure.hpp"
#include "study/grid.hpp"

namespace dfsearch::study {

enum class PointStatus : std::uint8_t {
  Optimal,     ///< proved within the gap that was allowed
  Feasible,    ///< stopped with an answer
  Infeasible,  ///< proved that nothing fits
  NoSolution,  ///< stopped without an answer
  Failed,      ///< no valid config, or an error
};

constexpr auto words(PointStatus) {
  return named<PointStatus>({{"optimal", PointStatus::Optimal},
                             {"feasible", PointStatus::Feasible},
                             {"infeasible", PointStatus::Infeasible},
                             {"no_solution", PointStatus::NoSolution},
                             {"failed", PointStatus::Failed}});
}
/// Whether more time could have improved the answer.
constexpr bool is_stopped(PointStatus status) {
  return status == PointStatus::Feasible || status == PointStatus::NoSolution;
}

/// Rates that a machine is assumed to reach, relative to its peaks.
enum class Rates : std::uint8_t {
  Unknown,     ///< such as for a point without a config
  Ideal,       ///< the peaks
  Efficiency,  ///< shares of the peaks given by the config
  Measured,    ///< measured times of kernels and software
};
/// Rates::Unknown has an empty name.
constexpr auto words(Rates) {
  return named<Rates>(
      {{"ideal", Rates::Ideal}, {"efficiency", Rates::Efficiency}, {"measured", Rates::Measured}});
}

struct PointAnswer {
  PointIndex index = 0;
  PointStatus status = PointStatus::NoSolution;
  std::string reason;  ///< of Infeasible and Failed
  Figures figures;
  Rates rates = Rates::Unknown;
  /// Decimal logarithm of the size of its search space.
  std::optional<double> space = std::nullopt;
  double step_bound = 0.0;         ///< no answer of this point has a shorter step, in seconds
  bool exact = false;              ///< the figures are those of the best answer, or there is none
  bool scoped = false;             ///< the proof is within a scope
  bool stopped_by_effort = false;  ///< more effort may improve it
  bool stopped_by_clock = false;   ///< more time may improve it
  std::string row;                 ///< the line of results.ndjson, without its end
};

using PointAnswers = std::unordered_map<PointIndex, PointAnswer>;

struct PointEffort {
  int threads = 1;
  bool whole = true;     ///< false: limited to some nodes
  std::size_t lane = 0;  ///< points of one lane are solved in sequence
};

/// Solves a point within the limits; throws only InternalError.  Called from any thread.
using SolvePoint = std::function<PointAnswer(PointIndex, const PointEffort&)>;

}  // namespace dfsearch::study
