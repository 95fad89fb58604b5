#pragma once
// A problem for the tree whose optimum is found by trying all.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "engine/tree/branch_and_bound.hpp"

namespace dfsearch::test {

/// Assigns each of n workers one of n jobs at least cost; among assignments of
/// equal cost the lexicographically first is wanted.
struct Assignment {
  struct Node {
    std::vector<int> jobs;  // of the first workers
    double cost = 0.0;
  };
  struct Solution {
    std::vector<int> jobs;
    double cost = 0.0;
  };

  std::vector<std::vector<double>> costs;
  bool dominance = false;
  int throw_at_depth = -1;
  std::atomic<int>* expansions_left = nullptr;  // then Stopped, in the middle of an expansion

  [[nodiscard]] Node root() const { return {}; }
  /// What is spent and the cheapest free job of every other worker.
  [[nodiscard]] Score bound(const Node& node) const {
    double sum = node.cost;
    for (std::size_t w = node.jobs.size(); w < costs.size(); ++w) {
      double least = 1e9;
      for (std::size_t j = 0; j < costs.size(); ++j) {
        if (free(node, static_cast<int>(j))) least = std::min(least, costs[w][j]);
      }
      sum += least;
    }
    return Score(sum);
  }
  [[nodiscard]] Score cost(const Solution& s) const { return Score(s.cost); }
  [[nodiscard]] bool precedes(const Solution& a, const Solution& b) const {
    return a.jobs < b.jobs;
  }
  [[nodiscard]] bool before(const Node& node, const Solution& s) const {
    const std::vector<int> prefix(s.jobs.begin(),
                                  s.jobs.begin() + static_cast<std::ptrdiff_t>(node.jobs.size()));
    return node.jobs <= prefix;
  }
  [[nodiscard]] bool admit(const Node&) const { return true; }
  void branch(const Node& node, Expansion<Node, Solution>& out) const {
    if (static_cast<int>(node.jobs.size()) == throw_at_depth) throw std::runtime_error("branch");
    const bool last = expansions_left != nullptr && expansions_left->fetch_sub(1) <= 0;
    for (std::size_t j = 0; j < costs.size(); ++j) {
      if (last && j == costs.size() / 2) throw Stopped();
      if (!free(node, static_cast<int>(j))) continue;
      Node child = node;
      child.jobs.push_back(static_cast<int>(j));
      child.cost += costs[node.jobs.size()][j];
      if (child.jobs.size() == costs.size()) {
        out.solution({child.jobs, child.cost}, 'T');
      } else {
        out.child(std::move(child));
      }
    }
  }
  static bool free(const Node& node, int job) {
    return std::find(node.jobs.begin(), node.jobs.end(), job) == node.jobs.end();
  }
};
static_assert(SearchProblem<Assignment>);

inline Assignment random_assignment(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  Assignment problem;
  problem.costs.assign(size, std::vector<double>(size));
  for (auto& row : problem.costs) {
    // Few different costs, so that many assignments tie.
    for (double& cost : row) cost = static_cast<double>(1 + random() % 6);
  }
  return problem;
}

inline Assignment::Solution best_assignment(const Assignment& problem) {
  std::vector<int> jobs(problem.costs.size());
  std::iota(jobs.begin(), jobs.end(), 0);
  Assignment::Solution best{{}, 1e9};
  do {
    double cost = 0.0;
    for (std::size_t w = 0; w < jobs.size(); ++w) {
      cost += problem.costs[w][static_cast<std::size_t>(jobs[w])];
    }
    if (cost < best.cost) best = {jobs, cost};  // permutations come in order
  } while (std::next_permutation(jobs.begin(), jobs.end()));
  return best;
}

}  // namespace dfsearch::test
