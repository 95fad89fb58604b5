#pragma once
// The graphs that DFModel's generators make for DLRM, HPL and FFT, recognised in
// a setup.  They communicate in ways that `kind: graph` has no words for.

#include <string>

#include "io/dfmodel/dfmodel_graph.hpp"

namespace dfsearch {

/// The `workload:` section of the kind that a `dlrm`, `hpl` or `fft` block
/// stands for.  Reports the first kernel or connection of the graph that the
/// generator would not have made.  `execution` is the message around the block,
/// `chips` those of the whole system.  The kernels of `graph` get the spread that
/// the kind gives them.
std::string generated_workload_yaml(const SetupNode& execution, const SetupNode& block,
                                    SetupGraph& graph, std::int64_t word, std::int64_t chips);

}  // namespace dfsearch
