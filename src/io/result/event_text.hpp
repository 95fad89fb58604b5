#pragma once
// Events of a search, one JSON object a line (docs/results.md).

#include <cstddef>
#include <optional>
#include <string>

#include "engine/calculon/execution_space.hpp"
#include "engine/solve.hpp"
#include "engine/tree/search_stats.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/serving/deployment.hpp"
#include "model/training/task.hpp"
#include "technology/chip.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

// Each is one line with its newline; times are in seconds since the search began,
// earlier runs of a resumed one included.

/// `title` names the config, `before` is what earlier runs have spent.
std::string start_event(const Problem& problem, const std::string& title, int threads,
                        const SearchStats& before);
std::string progress_event(const Progress& progress);
std::string incumbent_event(const Progress& progress, const Mapping& mapping);
/// A better split of the budgets, with the best mapping onto its chip.
std::string split_event(const Progress& progress, const Mapping& mapping, const ChipDesign& design,
                        const Chip& chip);
std::string checkpoint_event(const SearchStats& stats, const std::string& file,
                             std::size_t open_nodes, std::size_t bytes);
/// A limit or a signal has ended the search.
std::string stop_event(Seconds time, StopReason reason);

/// `objective` is that of the best answer, if there is one.
std::string done_event(const Certainty& certainty, std::optional<Score> objective,
                       const SearchStats& stats);

// Of a search for whole steps.
std::string start_event(const training::Task& task, const std::string& title, int threads,
                        const SearchStats& before);
std::string start_event(const calculon::Task& task, const std::string& title, int threads,
                        const SearchStats& before);
std::string start_event(const serving::Task& task, const std::string& title, int threads,
                        const SearchStats& before);
std::string incumbent_event(const Progress& progress, const training::Plan& plan);
std::string incumbent_event(const Progress& progress, const calculon::Execution& execution);
std::string incumbent_event(const Progress& progress, const serving::Task& task,
                            const serving::Deployment& deployment);

}  // namespace dfsearch
