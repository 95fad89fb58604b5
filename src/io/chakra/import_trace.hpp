#pragma once
// An execution trace of MLCommons Chakra as a config without its machine.

#include <string>

#include "io/chakra/trace_groups.hpp"

namespace dfsearch {

/// A section `workload` of `kind: graph` with a kernel for each computing node of the trace of one
/// chip, `name` in messages, and a tensor wherever what one computes reaches another through its
/// data, be it by way of collectives, messages, copies and nodes of the host; and a section
/// `execution` that runs them one by one, as a trace does.  `num_ops` are the FLOP of a node,
/// `tensor_size` what it reads and writes, as simulators take it; a product where there are at least
/// two FLOP for a byte.
///
/// A trace with collectives that its chip waits for is of one of several chips, which all do the
/// same: each is a kernel that communicates among the chips of its group.  Comments say what is left
/// out.  Throws InputError for what is no such trace, for a cycle, and for nodes that compute
/// without `num_ops`.
std::string import_trace(const std::string& bytes, const std::string& name,
                         const TraceGroups& groups);

}  // namespace dfsearch
