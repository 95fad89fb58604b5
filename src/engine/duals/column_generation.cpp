// Column generation (Gilmore and Gomory 1961).
//
// A linear program covers the kernels with the partitions known so far and tells the duals that
// would pay for them; partitions that such duals overpay are looked for and join the program.  When none is overpaid the sum of the duals is
// a bound of all fusions.

#include "engine/duals/column_generation.hpp"

namespace dfsearch {

void ColumnGeneration::begin(KernelClasses alike, SharedWork* work) {
  pricing_.emplace(tables_, PartitionPricing::Sets::Any, work);
  program_.emplace(tables_, *pricing_, std::move(alike));
  stage_ = Stage::Program;
}

bool ColumnGeneration::advance(std::int64_t steps) {
  steps_ = steps;
  while (steps_ > 0 && !has_ended() && !proved_) {
    tables_.deadline().check();
    switch (stage_) {
      case Stage::Program:
        solve_program();
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
      begin_pricing();
      stage_ = Stage::Pricing;
      return;
    case CoveringLp::Outcome::OutOfSteps:
      return;
    case CoveringLp::Outcome::Failed:
      end();
      return;
  }
}

}  // namespace dfsearch
