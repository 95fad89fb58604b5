#pragma once
// What the command line of `dfsearch study` says.

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
  std::string file;
  std::vector<std::string> folders;  ///< to be merged
  std::string output;                ///< a folder; left out: the name of the study's file
  bool output_is_named = true;
  std::string point;
  std::vector<std::string> only;
  StudyShard shard;
  std::optional<int> threads;  ///< of each process; left out: those of the machine
  std::optional<double> gap;
  std::optional<Seconds> time_limit;
  std::optional<Seconds> point_time_limit;
  std::optional<std::int64_t> node_limit;
  std::optional<Bytes> memory_limit;
  bool all = false;
  bool deterministic = false;
  bool quiet = false;
};

}  // namespace dfsearch
