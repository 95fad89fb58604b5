#pragma once
// The log of a search, with the columns of the MILP solvers.

#include <string>

#include "base/units_text.hpp"
#include "engine/tree/search_stats.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Units in which the log shows an incumbent.
struct ProgressScale {
  std::string (*text)(double score) = quantity_text<Seconds>;
  Flops work{};           ///< of a step
  FlopsPerSecond peak{};  ///< of the whole machine; 0: no utilization is shown
};
/// A step time alone has a utilization.
template <class Objective>
ProgressScale scale_of(Objective objective, Flops work, FlopsPerSecond peak) {
  return {.text = row_of(objective).text,
          .work = work,
          .peak = objective == Objective::StepTime ? peak : FlopsPerSecond{}};
}
ProgressScale scale_of(const Problem& problem);

/// The names of the columns; no newline.
std::string progress_header();

/// One line under them; no newline.  The letter at its end is the origin of the incumbent (a letter
/// of docs/results.md), "#2" means that the next-best parallelism is sought by now.  There is no
/// utilization on a machine without cores.
std::string progress_line(const Progress& progress, const ProgressScale& scale);

}  // namespace dfsearch
