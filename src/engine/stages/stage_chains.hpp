#pragma once
// The best chain of stages from the first border to the last, where few stages are priced.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/stages/stage_pricing.hpp"
#include "model/clock.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

/// A chain of stages and its cost.
struct StageChain {
  std::vector<std::size_t> borders;  ///< the first has no kernel, the last one all
  Score cost = Score::infinity();
};

/// The chains for one choice of all other decisions.  Refers to its arguments.
class StageChains {
 public:
  /// The chains of `stages` stages from the first border to the last.  Without floors a stage that
  /// is not priced takes no time.  Throws Stopped.
  StageChains(const StagePricing& pricing, const StageOrder& order, const StagedStep& step,
              std::size_t stages, bool has_floors, const Deadline& deadline);

  /// Lower bound on the cost of all chains; infinite if none fits.
  [[nodiscard]] Score bound() const { return bound_; }
  /// The best chain whose stages are all priced, if it costs less than the best known one.
  [[nodiscard]] const std::optional<StageChain>& found() const { return found_; }

  /// Prices more stages of chains that may cost less than `known`, by several threads, and improves
  /// the bound.  False if no such chain is left: bound() is then no less than `known`, or than the
  /// cost of the best chain found.  The result is the same for any number of threads.  If it throws
  /// Stopped, nothing has changed.
  bool advance(Score known);

  [[nodiscard]] std::int64_t priced() const { return priced_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }

 private:
  struct Edge {
    std::uint32_t to = 0;
    bool is_priced = false;
    std::int64_t flight = 0;
    Ticks time = 0;  ///< exact if priced, else a lower bound
  };
  /// Sum and maximum of the times of the stages before a border, or after it.
  struct Point {
    Ticks sum = 0;
    Ticks greatest = 0;
  };
  using Front = std::vector<Point>;
  /// A stage that is not priced, and a lower bound on the best chain with it.
  struct Candidate {
    Score bound{};
    std::size_t from = 0;
    std::size_t edge = 0;
  };

  [[nodiscard]] Score score(Point point) const;
  [[nodiscard]] bool fits(const Edge& edge, std::size_t left) const;
  [[nodiscard]] static Front reduced(Front points);
  void find_fronts();
  void drop_useless(Score known, std::vector<Candidate>& candidates);
  [[nodiscard]] Score bound_with(std::size_t from, const Edge& edge, PacedDeadline& paced) const;
  [[nodiscard]] std::vector<Candidate> best_chain() const;
  void take_chain(const std::vector<Candidate>& chain);

  const StagePricing& pricing_;
  const StagedStep step_;
  const std::size_t stages_;
  const std::size_t count_;  // of borders
  const Deadline deadline_;
  std::vector<std::vector<Edge>> edges_;   // by the border that they begin at
  std::vector<std::vector<Front>> rest_;   // by stages left and border
  std::vector<std::vector<Front>> reach_;  // by stages taken and border
  Score bound_{};
  std::optional<StageChain> found_;
  std::int64_t priced_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace dfsearch
