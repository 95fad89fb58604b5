#pragma once
// Words and lines that the parts of a report have in common.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/units_text.hpp"
#include "engine/tree/tree_search.hpp"
#include "graph/workloads/blocks/form_counts.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "io/report/sheet.hpp"
#include "model/machine/network_choices.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The first line of a report: the program, and the title.
Sheet title_line(const std::string& title);

/// One sentence, phrase or list after its label.
Sheet labelled(std::string_view label, const std::string& text);

/// The words of a sentence, for a column that is wrapped.
std::vector<std::string> words_of(const std::string& sentence);

/// "1 node", "2 nodes".
std::string plural(std::int64_t count, std::string_view noun);

/// 0.2994 -> "29.94 %".
std::string percent(double share);

/// "stopped by the time limit".
std::string stop_text(StopReason reason);

/// "tensor 8, pipeline 128, data 1".
std::string parallelism_text(const Parallelism& degrees);

/// A caution about blocks whose rates are guessed; nothing if there are none.
Sheet guessed_line(const MixedLayers& layers);

/// The members of a dimension: "8", or "4 x 2" of a mesh.  Its degree is given.
std::string extent_text(const NetworkDimension& dimension);

/// The line `model`: its size, and FLOP and bytes of a token.
Sheet model_line(const ModelCounts& counts);

/// Units in which the log shows an incumbent.
struct ProgressScale {
  std::string (*text)(double score) = quantity_text<Seconds>;
  Flops work{};           ///< of a step
  FlopsPerSecond peak{};  ///< of the whole machine; 0: no utilization is shown
};
/// The scale of an objective; only a step time has a utilization.
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
/// of docs/results.md), "#2" means that the search is for the next-best parallelism.  There is no
/// utilization on a machine without cores.
std::string progress_line(const Progress& progress, const ProgressScale& scale);

}  // namespace dfsearch
