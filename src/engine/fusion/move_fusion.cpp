// Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983).
//
// A kernel, with the kernels of its partition that must go along, moves to the partition of a
// neighbour, to any partition, to one that runs about as early, or to a new one.  A move that makes
// the fusion worse by d ticks is accepted with probability 2^(-d / temperature).  In each round the
// temperature falls from a share of the median cost of such moves in a sample (White 1984) to
// nearly 0.  Each round begins at the best fusion so far, lasts longer and has a lower temperature.
//
// Times are ticks, and random numbers are integers or their products with the temperature, so all
// machines make the same moves.  The result is costed again by the tables.
//
// tests/engine/fusion/move_fusion_test.cpp tests against brute force that the result is never worse
// than the start, allowed and costed right.

#include "engine/fusion/move_fusion.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/fusion/partition_sequence.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {
namespace {

struct Round {
  std::int64_t moves;  // per kernel
  double temperature;  // as a multiple of the median rise
};

// The first round is short; with eight times the moves the distance to the best fusion halves.
constexpr std::array kRounds = {Round{.moves = 64, .temperature = 0.7},  //
                                Round{.moves = 512, .temperature = 0.6},
                                Round{.moves = 4'096, .temperature = 0.4}};
constexpr int kSampledMoves = 512;  // for the median
constexpr std::int64_t kBlocks = 64;
constexpr double kCooling = 0.94;  // from block to block
constexpr Work kWordsOfStep = 16;  // work to draw, cost and make a move
constexpr std::int64_t kMovesBetweenChecks = 1'024;

}  // namespace

MoveSearch::MoveSearch(const FusionTables& tables, Fusion start, std::uint64_t seed)
    : tables_(tables),
      parts_(tables, start),
      best_(std::move(start)),
      least_(best_.time),
      random_(seed) {}

bool MoveSearch::advance(Work& work) {
  std::int64_t unchecked = 0;
  while (work > 0) {
    if (moves_left_ == 0 && !cool()) break;
    if (unchecked++ % kMovesBetweenChecks == 0) tables_.deadline().check();
    --moves_left_;
    propose();
    work -= kWordsOfStep * (1 + parts_.take_steps());
  }
  keep_best();
  return ended_;
}

void MoveSearch::begin_round() {
  const Round& round = kRounds[static_cast<std::size_t>(round_++)];
  keep_best();
  parts_.restore(best_);
  least_ = best_.time;
  blocks_left_ = kBlocks;
  moves_ = 1 + round.moves * static_cast<std::int64_t>(tables_.size()) / kBlocks;
  temperature_ = round.temperature * median_rise();
}

/// Median cost of the moves that make the fusion worse, in ticks; 0 if there are none.
double MoveSearch::median_rise() {
  std::vector<Ticks> rises;
  for (int i = 0; i < kSampledMoves; ++i) {
    const auto change = draw_move(kNever - 1).change;
    if (change > 0 && change < kNever) rises.push_back(change);
  }
  if (rises.empty()) return 0.0;
  const auto median = rises.begin() + std::ssize(rises) / 2;
  std::nth_element(rises.begin(), median, rises.end());
  return static_cast<double>(*median);
}

void MoveSearch::go_on_from(Fusion better) {
  best_ = std::move(better);
  parts_.restore(best_);
  least_ = best_.time;
}

/// Begins the next block of moves; returns false after the last block of the last round.
bool MoveSearch::cool() {
  if (blocks_left_ > 0) {
    temperature_ *= kCooling;
  } else if (round_ < static_cast<int>(kRounds.size())) {
    begin_round();
  } else {
    ended_ = true;
    return false;
  }
  --blocks_left_;
  moves_left_ = moves_;
  return true;
}

std::size_t MoveSearch::draw(std::size_t below) {
  return static_cast<std::size_t>(((random_() >> 32) * static_cast<std::uint64_t>(below)) >> 32);
}

/// Draws the greatest rise of the time that a move may cause: about the temperature times -log2 of
/// a random number between 0 and 1.
Ticks MoveSearch::draw_rise() {
  const std::uint64_t bits = random_();
  const auto zeros = static_cast<double>(std::countl_zero(bits | 1));
  const double below = static_cast<double>(random_() >> 11) * 0x1p-53;
  constexpr Ticks kMost = kNever / 4;
  return static_cast<Ticks>(std::min(static_cast<double>(kMost), temperature_ * (zeros + below)));
}

std::size_t MoveSearch::draw_target(std::size_t kernel) {
  const std::size_t own = parts_.part_of(kernel);
  const std::size_t kind = draw(16);
  if (kind == 0) return MovingParts::kNewPart;
  const auto links = parts_.links(kernel);
  if (kind < 12 && !links.empty()) {
    const std::size_t part = parts_.part_of(links[draw(links.size())].other);
    if (part != own) return part;
  }
  if (kind < 14) return parts_.part_at(draw(parts_.count()));
  const std::size_t place = parts_.place_of(own) + draw(9);
  return place < 4 || place - 4 >= parts_.count() ? own : parts_.part_at(place - 4);
}

/// Draws kernels and their new partition, and costs the move.
MoveSearch::Move MoveSearch::draw_move(Ticks most) {
  const std::size_t kernel = draw(tables_.size());
  const std::size_t own = parts_.part_of(kernel);
  const std::size_t to = draw_target(kernel);
  if (to == own) return {};
  const bool later =
      to == MovingParts::kNewPart ? draw(2) == 0 : parts_.place_of(to) > parts_.place_of(own);
  if (later) {
    parts_.choose_with_followers(kernel);
  } else {
    parts_.choose_with_leaders(kernel);
  }
  return {.change = parts_.change(to, most), .is_later = later};
}

void MoveSearch::propose() {
  const Ticks most = draw_rise();
  const Move move = draw_move(most);
  if (move.change > most) return;
  if (!parts_.move(move.is_later ? MovingParts::Side::After : MovingParts::Side::Before)) return;
  if (parts_.time() < least_) {
    least_ = parts_.time();
    best_places_ = parts_.places();
  }
}

/// Costs the best places by the tables and stores them as the best fusion.
void MoveSearch::keep_best() {
  if (best_places_.empty()) return;
  std::vector<KernelSet> sets;
  for (std::size_t p = 0; p < best_places_.size(); ++p) {
    if (best_places_[p] >= sets.size()) sets.resize(best_places_[p] + 1, KernelSet(tables_.size()));
    sets[best_places_[p]].insert(p);
  }
  auto found = fusion_of(tables_, sets);
  if (found && found->time < best_.time) best_ = std::move(*found);
  best_places_.clear();
}

}  // namespace dfsearch
