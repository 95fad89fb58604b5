// Windows make good at once what is wrong in one place, as where a fusion was appended partition
// by partition; moves find what lies in several, but hardly from where windows have ended.  So
// both begin with the fusion, windows have what moves have found, too, and the better one stays.
//
// Against the plain model: tests/engine/fusion/frontier_fusion_test.cpp.

#include "engine/fusion/improved_fusion.hpp"

#include <utility>

#include "engine/fusion/move_fusion.hpp"
#include "engine/fusion/window_fusion.hpp"

namespace dfsearch {
namespace {

Fusion by_windows(const FusionTables& tables, Fusion fusion, std::int64_t steps) {
  if (!tables.bounds().use(SearchBound::Windows) || !WindowSearch::is_possible(tables)) {
    return fusion;
  }
  WindowSearch windows(tables, fusion);
  windows.advance(steps);
  return windows.time() < fusion.time ? windows.best() : std::move(fusion);
}

Fusion by_moves(const FusionTables& tables, Fusion fusion, std::int64_t steps) {
  if (!tables.bounds().use(SearchBound::Moves) || !MoveSearch::is_possible(tables)) return fusion;
  MoveSearch moves(tables, std::move(fusion));
  moves.advance(steps);
  return moves.best();
}

}  // namespace

Fusion improved_fusion(const FusionTables& tables, const Fusion& fusion, std::int64_t steps) {
  Fusion windows = by_windows(tables, fusion, steps);
  Fusion moves = by_moves(tables, fusion, steps);
  if (moves.time < fusion.time) moves = by_windows(tables, std::move(moves), steps);
  return windows.time <= moves.time ? windows : moves;
}

}  // namespace dfsearch
