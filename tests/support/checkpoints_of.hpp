#pragma once
// The checkpoints of a search, as bytes.

#include <string>
#include <vector>

#include "engine/solve.hpp"
#include "io/checkpoint/checkpoint_file.hpp"

namespace dfsearch::test {

/// One after each node of the search.
inline std::vector<std::string> checkpoints_of(const Problem& problem, SearchOptions options) {
  std::vector<std::string> files;
  options.checkpoint_interval = Seconds(0.0);
  options.on_checkpoint = [&](const SearchState& state) {
    files.push_back(checkpoint_bytes(problem, state));
  };
  solve(problem, options);
  return files;
}

}  // namespace dfsearch::test
