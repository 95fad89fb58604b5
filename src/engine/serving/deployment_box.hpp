#pragma once
// Intervals of batches, which searches halve, and their bounds.

#include <cstddef>
#include <utility>

#include "engine/serving/deployment_space.hpp"

namespace dfsearch::serving {

/// Deployments of a chain, alone or beside a chain that prefills, with the batches of an interval of
/// each.  Refers to the space.
class DeploymentBox {
 public:
  /// All batches of chains that have some; `prefill` is null for Aggregated.
  DeploymentBox(const DeploymentSpace& space, const Chain& chain, const PrefillChain* prefill);

  [[nodiscard]] bool is_single() const { return low_ == high_ && first_ == last_; }
  [[nodiscard]] const Structure& decode() const { return chain_->decoder->structure(); }
  /// Null for Aggregated.
  [[nodiscard]] const Structure* prefill() const {
    return prefill_ ? &prefill_->prefiller->structure() : nullptr;
  }
  /// At the least batches of both.
  [[nodiscard]] const Decoding& at_low() const { return at_low_; }
  [[nodiscard]] const Prefilling& at_first() const { return at_first_; }
  /// Bounds of all batches.
  [[nodiscard]] Decoding decoding() const { return chain_->decoder->between(at_low_, at_high_); }
  [[nodiscard]] Prefilling prefilling() const {
    return prefill_ ? prefill_->prefiller->between(at_first_, at_last_) : Prefilling{};
  }
  /// Calls `visit` with each pair of counts, of replicas that prefill, 0 for Aggregated, and of
  /// replicas that decode, and with a bound of what such deployments do.
  template <class Visit>
  void each_count(const Visit& visit) const {
    const Decoding decoding = this->decoding();
    const Prefilling prefilling = this->prefilling();
    if (!prefill_) {
      for (const std::int64_t y : chain_->replicas)
        visit(0, y, figures(0, prefilling, y, decoding));
      return;
    }
    for (const std::int64_t x : prefill_->replicas) {
      for (const std::int64_t y : chain_->replicas) {
        if (!space_->holds(prefill_->role(first_, x), chain_->role(low_, y))) break;
        visit(x, y, figures(x, prefilling, y, decoding));
      }
    }
  }
  /// This bound for two counts.
  [[nodiscard]] Figures figures(std::int64_t prefillers, std::int64_t decoders) const {
    return figures(prefillers, prefilling(), decoders, decoding());
  }
  /// The deployment of two counts that comes before all others of the box.
  [[nodiscard]] Deployment deployment(std::int64_t prefillers, std::int64_t decoders) const;
  /// The lower and the upper half of the side whose times differ more; the box is not single.
  [[nodiscard]] std::pair<DeploymentBox, DeploymentBox> halves() const;

 private:
  [[nodiscard]] Figures figures(std::int64_t prefillers, const Prefilling& prefilling,
                                std::int64_t decoders, const Decoding& decoding) const {
    const Task& task = space_->task();
    const Decoders after{decode(), decoders, decoding};
    if (!prefill_) return aggregated(task, space_->means(), after);
    return disaggregated(task, space_->means(), {*prefill(), prefillers, prefilling}, after, move_);
  }

  const DeploymentSpace* space_;
  const Chain* chain_;
  const PrefillChain* prefill_;
  std::size_t low_ = 0, high_ = 0;  // batches that decode
  Decoding at_low_, at_high_;
  std::size_t first_ = 0, last_ = 0;  // batches that prefill
  Prefilling at_first_, at_last_;
  Handover move_;
};

}  // namespace dfsearch::serving
