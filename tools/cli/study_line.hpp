#pragma once
// What the command line of `dfsearch study` says beside what those of other commands do.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace dfsearch {

/// One of equal parts of a study, from 0.
struct StudyShard {
  std::int64_t part = 0;
  std::int64_t of = 1;
};

/// What was asked for.  Names of files are as given; empty: not given.
struct StudyLine {
  enum class Task {
    Run,
    List,   ///< --points
    Print,  ///< --print POINT
    DryRun,
    Merge,  ///< of folders
  };
  Task task = Task::Run;
  std::vector<std::string> folders;  ///< to be merged
  std::string output;                ///< a folder; left out: the name of the study's file
  bool output_is_named = true;
  std::string point;
  std::vector<std::string> only;
  StudyShard shard;
  std::optional<Seconds> point_time_limit;
  bool all = false;
};

}  // namespace dfsearch
