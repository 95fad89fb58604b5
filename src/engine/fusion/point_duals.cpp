#include "engine/fusion/point_duals.hpp"

#include <utility>

namespace dfsearch {

PointDuals::PointDuals(const FusionTables& tables) : tables_(tables) {
  if (!tables.bounds().use(SearchBound::Duals)) slices_.end();
}

void PointDuals::run(Work slice) {
  CountedCall call(tables_.allowance().efforts, SearchBound::Duals);
  Work left = slice;
  try {
    if (!search_) search_ = std::make_unique<ColumnGeneration>(tables_, left);
    while (left > 0 && !search_->has_ended()) {
      search_->advance(left);
      auto proved = search_->take();
      if (!proved) continue;
      call.found();
      proved_ = std::move(proved);
    }
  } catch (const Stopped&) {
    slices_.end();  // an interrupted call cannot be continued
    search_.reset();
    throw;
  }
  spent_ = slice - left;
  if (!search_->has_ended()) return;
  slices_.end();
  search_.reset();
}

void PointDuals::publish() {
  if (proved_) {
    published_.push_back(*std::exchange(proved_, std::nullopt));
    known_.store(&published_.back(), std::memory_order_release);
  }
  slices_.release(std::exchange(spent_, 0));
}

}  // namespace dfsearch
