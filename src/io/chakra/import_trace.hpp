#pragma once
// An execution trace of MLCommons Chakra as a workload.

#include <string>

namespace dfsearch {

/// A section `workload` of `kind: graph` with a kernel for each computing node of the trace of one
/// chip, `name` in messages, and a tensor wherever what one computes reaches another through its
/// data, be it by way of collectives, messages, copies and nodes of the host: these are how the
/// work was divided once, which is to be found anew, so they are left out.  `num_ops` are the FLOP
/// of a node, `tensor_size` the bytes of its output; a product where there are at least two FLOP
/// for a byte.  Throws InputError for what is no such trace, for a cycle, and for nodes that compute
/// without `num_ops`.
std::string import_trace(const std::string& bytes, const std::string& name);

}  // namespace dfsearch
