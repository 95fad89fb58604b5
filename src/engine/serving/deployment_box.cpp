#include "engine/serving/deployment_box.hpp"

namespace dfsearch::serving {

DeploymentBox::DeploymentBox(const DeploymentSpace& space, const Chain& chain,
                             const PrefillChain* prefill)
    : space_(&space),
      chain_(&chain),
      prefill_(prefill),
      high_(chain.batches.size() - 1),
      at_low_(chain.at_first),
      at_high_(chain.at_last) {
  if (!prefill) return;
  last_ = prefill->batches.size() - 1;
  at_first_ = prefill->at_first;
  at_last_ = prefill->at_last;
  move_ = handover(space.task(), space.means(), prefill->prefiller->structure(), decode());
}

Deployment DeploymentBox::deployment(std::int64_t prefillers, std::int64_t decoders) const {
  if (!prefill_) {
    return {.mode = Mode::Aggregated, .prefill = {}, .decode = chain_->role(low_, decoders)};
  }
  return {.mode = Mode::Disaggregated,
          .prefill = prefill_->role(first_, prefillers),
          .decode = chain_->role(low_, decoders)};
}

std::pair<DeploymentBox, DeploymentBox> DeploymentBox::halves() const {
  std::pair<DeploymentBox, DeploymentBox> both(*this, *this);
  auto& [below, above] = both;
  const bool of_decoding =
      first_ == last_ || (low_ < high_ && at_high_.iteration * at_first_.period >=
                                              at_low_.iteration * at_last_.period);
  if (of_decoding) {
    below.high_ = (low_ + high_) / 2;
    above.low_ = below.high_ + 1;
    below.at_high_ = below.high_ == low_ ? at_low_ : chain_->at(below.high_);
    above.at_low_ = above.low_ == high_ ? at_high_ : chain_->at(above.low_);
  } else {
    below.last_ = (first_ + last_) / 2;
    above.first_ = below.last_ + 1;
    below.at_last_ = below.last_ == first_ ? at_first_ : prefill_->at(below.last_);
    above.at_first_ = above.first_ == last_ ? at_last_ : prefill_->at(above.first_);
  }
  return both;
}

}  // namespace dfsearch::serving
