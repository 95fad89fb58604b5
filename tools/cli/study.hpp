#pragma once

#include "cli/study_line.hpp"

namespace dfsearch {

/// Runs `dfsearch study` and returns the exit status.  Throws InputError.
int run_study(const StudyLine& line);

}  // namespace dfsearch
