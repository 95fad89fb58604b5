#pragma once
// The block of a setup of DFModel that says what is computed how often.

#include "graph/workload.hpp"
#include "io/dfmodel/complaints.hpp"

namespace dfsearch {

// Of the schema, compiled by protoc.
namespace dfmodel {
class Execution;
}  // namespace dfmodel

/// Whether DFModel has a generator and a block of its own for the workload: DLRM, HPL
/// and FFT.
bool has_own_block(const Workload& workload);

/// Writes the block `llm`, `dlrm`, `hpl` or `fft`, and the word.
void export_workload(const Workload& workload, dfmodel::Execution& setup, Complaints& complaints);

}  // namespace dfsearch
