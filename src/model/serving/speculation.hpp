#pragma once
// Speculative decoding: tokens that a pass checks and gains, and who drafts them.

#include <cstdint>
#include <optional>

#include "model/serving/pass.hpp"

namespace dfsearch::serving {

/// Tokens of one pass that checks drafts of some depth.
struct Gain {
  double checked = 1.0;  ///< tokens of a request
  double gained = 1.0;   ///< of them, on average, with the one that follows
};
/// (22) and (23) of docs/serving.md.
Gain gain_of(const Speculation& speculation, std::int64_t depth);

class Drafts {
 public:
  /// `target` is the pass that they precede, of the same structure.
  Drafts(const Task& task, const Means& means, const Structure& structure, const Pass& target,
         std::int64_t depth);

  /// Seconds before a pass over `requests`.
  [[nodiscard]] double time(double requests) const;
  /// Bytes of a chip: weights of the draft, and its cache of all micro-batches of `requests` each.
  [[nodiscard]] double memory(double requests) const;

 private:
  const Drafting kind_;
  const std::int64_t depth_;
  const double micro_batches_;
  const Pass& target_;
  const Cached cached_;  // of a request in the model that drafts
  std::optional<Pass> draft_;
};

}  // namespace dfsearch::serving
