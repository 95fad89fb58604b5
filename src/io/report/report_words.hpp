#pragma once
// Words and lines that the parts of a report have in common.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "engine/tree/limits.hpp"
#include "graph/workloads/blocks/form_counts.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "io/report/sheet.hpp"
#include "model/machine/network_choices.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The first line of a report: the program, and the title of the question.
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

/// A caution that names the blocks whose rates are guessed; nothing where there are none.
Sheet guessed_line(const MixedLayers& layers);

/// The members of a dimension: "8", or "4 x 2" of a mesh.  Its degree is given.
std::string extent_text(const NetworkDimension& dimension);

/// The line `model`: how large it is, and what a token takes.
Sheet model_line(const ModelCounts& counts);

}  // namespace dfsearch
