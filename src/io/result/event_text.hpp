#pragma once
// Events of a search, one JSON object a line (docs/results.md).

#include <cstdint>
#include <string>

#include "engine/solve.hpp"
#include "engine/tree/search_stats.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
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
std::string stop_event(const SearchResult& result, StopReason reason);
std::string done_event(const SearchResult& result);

}  // namespace dfsearch
