#pragma once
// Speculative decoding: the tokens that a pass checks and gains, and the cost of drafts.

#include <cstdint>
#include <optional>

#include "model/serving/pass.hpp"

namespace dfsearch::serving {

/// Tokens of one pass that checks drafts of some depth.
struct Gain {
  double checked = 1.0;  ///< tokens of a request that the pass checks
  double gained = 1.0;   ///< mean number of accepted tokens and the next token
};
/// The gain of drafts of this depth, (22) and (23) of docs/serving.md.
Gain gain_of(const Speculation& speculation, std::int64_t depth);

class Drafts {
 public:
  /// `target` is the pass that checks the drafts, in the same structure.
  Drafts(const Task& task, const Means& means, const Structure& structure, const Pass& target,
         std::int64_t depth);

  /// Seconds to draft for a pass over `requests`.
  [[nodiscard]] double time(double requests) const;
  /// Bytes of a chip: the weights of the draft model, and its caches for all micro-batches of
  /// `requests` requests each.
  [[nodiscard]] double memory(double requests) const;

 private:
  const Drafting kind_;
  const std::int64_t depth_;
  const double micro_batches_;
  const Pass& target_;
  const Cached cached_;  // cache of a request in the draft model
  std::optional<Pass> draft_;
};

}  // namespace dfsearch::serving
