#pragma once
// The exit statuses of the program.

#include "engine/search_result.hpp"

namespace dfsearch {

enum ExitStatus : int {
  kProved = 0,
  kInternalError = 1,
  kInputError = 2,
  kInfeasible = 3,
  kStoppedWithMapping = 4,
  kStoppedWithout = 5,
};

/// Of a search.
inline int exit_status(SearchStatus status) {
  switch (status) {
    case SearchStatus::Optimal:
      return kProved;
    case SearchStatus::Feasible:
      return kStoppedWithMapping;
    case SearchStatus::Infeasible:
      return kInfeasible;
    case SearchStatus::NoSolution:
      return kStoppedWithout;
  }
  return kInternalError;
}

}  // namespace dfsearch
