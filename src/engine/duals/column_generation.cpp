// Column generation (Gilmore and Gomory 1961).
//
// A linear program covers the kernels with the partitions known so far and tells the duals that
// would pay for them; partitions that such duals overpay are looked for, by growth and, where that
// finds none, by whoever prices, and join the program.  When none is overpaid the sum of the duals is
// a bound of all fusions.

#include "engine/duals/column_generation.hpp"

namespace dfsearch {

void ColumnGeneration::begin(KernelClasses alike, const Duals* known, SharedWork* work) {
  known_ = known;
  pricing_.emplace(tables_, PartitionPricing::Sets::Any, work);
  program_.emplace(tables_, *pricing_, std::move(alike), work);
  stage_ = Stage::Program;
}

bool ColumnGeneration::advance(std::int64_t steps) {
  steps_ = steps;
  if (const Duals* known = std::exchange(known_, nullptr)) program_->begin_with(*known, steps_);
  while (steps_ > 0 && !has_ended() && !proved_) {
    tables_.deadline().check();
    switch (stage_) {
      case Stage::Program:
        solve_program();
        break;
      case Stage::Growth:
        grow_columns();
        break;
      case Stage::Pricing:
        price();
        break;
      case Stage::Ended:
        break;
    }
  }
  return has_ended();
}

void ColumnGeneration::solve_program() {
  switch (program_->solve(steps_)) {
    case CoveringLp::Outcome::Solved:
      stage_ = grows_next() ? Stage::Growth : Stage::Pricing;
      return;
    case CoveringLp::Outcome::OutOfSteps:
      return;
    case CoveringLp::Outcome::Failed:
      end();
      return;
  }
}

/// Greedy pricing comes first, at first from neighbour to neighbour: it is quick, and whoever prices
/// then starts from a program that has most of its columns.
void ColumnGeneration::grow_columns() {
  using Reach = PartitionGrowth::Reach;
  const std::int64_t before = steps_;
  if (program_->grow(Reach::Near, steps_)) return solve_again();
  if (steps_ > 0 && grows_far() && program_->grow(Reach::Far, steps_)) return solve_again();
  if (steps_ <= 0) return;
  growth_found_nothing(before - steps_);
  stage_ = Stage::Pricing;
}

}  // namespace dfsearch
