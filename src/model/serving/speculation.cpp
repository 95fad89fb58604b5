// Sequences and trees of drafted tokens: Leviathan et al., arXiv 2211.17192, and SpecInfer (Miao et
// al., ASPLOS 2024).

#include "model/serving/speculation.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::serving {
namespace {

double acceptance_of(const Speculation& speculation, std::int64_t level) {
  if (speculation.acceptance.empty()) return 0.0;
  const auto last = static_cast<std::int64_t>(speculation.acceptance.size()) - 1;
  return speculation.acceptance[static_cast<std::size_t>(std::min(level, last))];
}

}  // namespace

Gain gain_of(const Speculation& speculation, std::int64_t depth) {
  Gain gain;
  if (depth == 0 || speculation.kind == Drafting::None) return gain;
  if (speculation.kind == Drafting::Tree) {
    // Below the first drafted token, each token has two children, either of which may be accepted.
    gain.checked = std::ldexp(1.0, static_cast<int>(depth));
    double reached = acceptance_of(speculation, 0);
    for (std::int64_t i = 1; i <= depth; ++i) {
      gain.gained += reached;
      const double neither = 1.0 - acceptance_of(speculation, i);
      reached *= 1.0 - neither * neither;
    }
    return gain;
  }
  if (speculation.kind == Drafting::Published) {
    for (std::int64_t i = 0; i < depth; ++i) gain.gained += acceptance_of(speculation, i);
    return gain;
  }
  gain.checked = static_cast<double>(depth + 1);
  double reached = 1.0;
  for (std::int64_t i = 0; i < depth; ++i) {
    reached *= acceptance_of(speculation, i);
    gain.gained += reached;
  }
  return gain;
}

Drafts::Drafts(const Task& task, const Means& means, const Structure& structure, const Pass& target,
               std::int64_t depth)
    : kind_(task.speculation.kind),
      depth_(depth),
      micro_batches_(real(structure.pipeline)),
      target_(target),
      cached_(reserved_tokens(
          task, means, views_of(task.speculation.draft ? *task.speculation.draft : task.model))) {
  if (depth == 0 || !task.speculation.draft) return;
  Structure whole = structure;
  whole.pipeline = 1;
  whole.expert = 1;
  whole.redundant_experts = 0;
  whole.sub_batches = 1;
  draft_.emplace(task, *task.speculation.draft, means, whole);
}

double Drafts::time(double requests) const {
  if (depth_ == 0 || kind_ == Drafting::None) return 0.0;
  if (kind_ == Drafting::Mtp) {
    return static_cast<double>(depth_) * target_.prediction_layer(requests);
  }
  double time = 0.0;
  for (std::int64_t i = 0; i < depth_; ++i) {
    const double fed =
        kind_ == Drafting::Tree && i > 0 ? std::ldexp(1.0, static_cast<int>(i) - 1) : 1.0;
    time += draft_->time({.requests = requests, .tokens_of_request = fed, .prefill = {}}).period;
  }
  return time;
}

double Drafts::memory(double requests) const {
  if (depth_ == 0 || kind_ == Drafting::None) return 0.0;
  const double running = requests * micro_batches_;
  if (kind_ == Drafting::Mtp) {
    return target_.prediction_weights() + running * target_.prediction_cached_bytes(cached_);
  }
  return draft_->weights(0) + running * draft_->cached_bytes(cached_);
}

}  // namespace dfsearch::serving
