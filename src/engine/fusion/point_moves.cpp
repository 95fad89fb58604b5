#include "engine/fusion/point_moves.hpp"

#include <utility>

#include "engine/fusion/segment_fusion.hpp"

namespace dfsearch {
namespace {

constexpr std::uint64_t kWalks = 8;
constexpr Work kMovesPerCut = 4;  // work of moves between two cuts, in units of a cut's work

}  // namespace

PointMoves::PointMoves(const FusionTables& tables) : tables_(tables) {
  const bool may_move = tables.bounds().use(SearchBound::Moves) && MoveSearch::is_possible(tables);
  if (!may_move) slices_.end();
}

std::optional<Fusion> PointMoves::run(Work slice) {
  CountedCall call(tables_.allowance().efforts, SearchBound::Moves);
  Work left = slice;
  if (!moves_ && !begin(left)) {
    slices_.end();
    return std::nullopt;
  }
  const bool has_cooled = moves_->advance(left);
  moved_ += slice - left;
  if (has_cooled || moved_ >= kMovesPerCut * cut_) cut_again(left);
  std::optional<Fusion> better;
  if (moves_->best().time < best_) {
    better = moves_->best();
    best_ = better->time;
    slices_.found();
    call.found();
  }
  // A search that has ended begins again at the same fusion, with other random moves.
  if (has_cooled && walks_ == kWalks) slices_.end();
  if (has_cooled) moves_ = std::make_unique<MoveSearch>(tables_, *first_, ++walks_);
  spent_ = slice - left;
  return better;
}

void PointMoves::publish() { slices_.release(std::exchange(spent_, 0)); }

/// Finds the best boundaries between partitions for the current order of the kernels; a move
/// changes only one boundary at a time (Prins 2004, for vehicle routes: order first, split second).
void PointMoves::cut_again(Work& work) {
  if (!tables_.bounds().use(SearchBound::Segments)) return;
  Work taken = 0;
  auto cut = best_segments(tables_, moves_->places(), taken);
  work -= taken;
  cut_ = taken;
  moved_ = 0;
  if (cut && cut->time < moves_->best().time) moves_->go_on_from(std::move(*cut));
}

/// Begins with the best segments; returns false if there are none.
bool PointMoves::begin(Work& work) {
  Work taken = 0;
  first_ = best_segments(tables_, taken);
  work -= taken;
  cut_ = taken;
  if (first_) moves_ = std::make_unique<MoveSearch>(tables_, *first_);
  if (first_) best_ = first_->time;
  return first_.has_value();
}

}  // namespace dfsearch
