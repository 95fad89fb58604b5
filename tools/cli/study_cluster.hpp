#pragma once
// The processes that MPI has started for one study.

#include <memory>
#include <string>

#include "cluster/cluster.hpp"

namespace dfsearch {

/// Null where the program runs alone.  Throws InputError where it was started by MPI and cannot
/// work with it.
std::unique_ptr<study::Cluster> open_cluster();

/// Throws InputError where MPI has started several processes: each would do all of `command`.
void refuse_many_processes(const char* command);

/// Of the hardware threads those that a process has for itself: processes of one machine share them.
int threads_of_a_process(int hardware_threads);

/// What --version says of it: a line, or nothing.
std::string cluster_text();

}  // namespace dfsearch
