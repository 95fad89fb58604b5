#pragma once
// The best deployments found, by one number or, for a front, by two.

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "engine/serving/find_deployment.hpp"
#include "model/serving/deployment.hpp"

namespace dfsearch::serving {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Candidate {
  Deployment deployment;
  Figures figures;
  double value = 0.0;
};

/// Lower bounds on the figures of all deployments of an interval.
struct LeastFigures {
  double value = 0.0;
  double tpot = 0.0;
  std::int64_t chips = 0;
  Deployment first;  ///< first of them in the order of ties
};

/// The incumbents of a search.  Any thread may use them.
class Incumbents {
 public:
  explicit Incumbents(bool front) : front_(front) {}

  /// Whether no deployment of the interval can improve the incumbents, ties included.
  [[nodiscard]] bool beats(const LeastFigures& least) const;
  /// The greatest value that an answer with this time per token may have.
  [[nodiscard]] double most_value(double tpot) const;
  /// Returns true if the candidate is the new best, or a new step of the front.
  bool add(const Candidate& candidate);

  /// The first in the order of ties among deployments of the best value; null: there is none.
  [[nodiscard]] const Candidate* best() const;
  /// The deployment with the least value, to the last bit; null: there is none.
  [[nodiscard]] const Candidate* least() const;
  /// The least value, or infinity.  Takes no lock.
  [[nodiscard]] double best_value() const { return best_.load(std::memory_order_relaxed); }
  /// Returns the greatest relative distance of the answer, or of the front at any time per token,
  /// from the kept and the open points.  Times that differ by less than kTie are equal.
  [[nodiscard]] double gap_to(const std::vector<LeastFigures>& open) const;
  [[nodiscard]] std::vector<Deployment> deployments() const;
  /// The steps of the front, the fastest for a user first.
  [[nodiscard]] std::vector<Candidate> steps() const;

 private:
  [[nodiscard]] double step_at(double tpot) const;  // with the mutex held

  const bool front_;
  mutable std::mutex mutex_;            // guards the members below
  std::map<double, double> staircase_;  // time per token -> value, which falls
  std::vector<Candidate> kept_;         // none is beaten by another, ties included
  std::atomic<double> best_{std::numeric_limits<double>::infinity()};
};

}  // namespace dfsearch::serving
