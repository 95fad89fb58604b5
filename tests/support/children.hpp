#pragma once
// What a node of the whole tree branches into.

#include <memory>
#include <utility>
#include <vector>

#include "engine/mapping/mapping_problem.hpp"

namespace dfsearch::test {

/// Keeps all nodes, for there is nothing to beat, and the solutions.
class Children final : public Expansion<MappingProblem::Node, MappingSolution> {
 public:
  [[nodiscard]] Score cutoff() const override { return Score::infinity(); }
  [[nodiscard]] std::shared_ptr<const MappingSolution> incumbent() const override {
    return nullptr;
  }
  void child(MappingProblem::Node&& node) override { nodes.push_back(std::move(node)); }
  void solution(MappingSolution&& solution, char found_by) override {
    // Segment fusions and completed relaxations come again from the tree.
    (found_by == 'T' ? solutions : early_solutions).push_back(std::move(solution));
  }

  std::vector<MappingProblem::Node> nodes;
  std::vector<MappingSolution> solutions;        ///< of the tree itself
  std::vector<MappingSolution> early_solutions;  ///< found before the tree gets to them
};

}  // namespace dfsearch::test
