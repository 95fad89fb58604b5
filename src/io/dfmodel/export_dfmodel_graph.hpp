#pragma once
// The graph of a setup of DFModel.

#include "io/dfmodel/complaints.hpp"
#include "model/problem.hpp"

namespace dfsearch {

// Of the schema, compiled by protoc.
namespace dfmodel {
class DataflowGraph;
}  // namespace dfmodel

/// Writes kernels and connections.
void export_graph(const Problem& problem, dfmodel::DataflowGraph& setup, Complaints& complaints);

}  // namespace dfsearch
