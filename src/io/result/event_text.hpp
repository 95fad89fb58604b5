#pragma once
// Events of a search, one JSON object per line (docs/results.md).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/search_result.hpp"
#include "engine/tree/tree_search.hpp"

namespace dfsearch {

struct AnswerJson;

/// Workload and machine of a search; a search for steps or deployments has no list of kernels.
struct SearchSubject {
  const char* workload = "";
  std::optional<std::size_t> kernels, tensors;
  std::int64_t chips = 0;
};

// Each event is one line with its newline; times are in seconds since the search began, including
// the earlier runs of a resumed search.

/// `title` is the name of the config, `before` the effort of earlier runs.
std::string start_event(const SearchSubject& subject, const std::string& title, int threads,
                        const SearchStats& before);
std::string progress_event(const Progress& progress);
/// `answer` has the keys of the better answer.
std::string incumbent_event(const Progress& progress, const AnswerJson& answer);
std::string checkpoint_event(const SearchStats& stats, const std::string& file,
                             std::size_t open_nodes, std::size_t bytes);
/// Event that a limit or a signal has ended the search.
std::string stop_event(Seconds time, StopReason reason);
/// `objective` belongs to the best answer, if there is one.
std::string done_event(const Proof& certainty, std::optional<Score> objective,
                       const SearchStats& stats);

}  // namespace dfsearch
