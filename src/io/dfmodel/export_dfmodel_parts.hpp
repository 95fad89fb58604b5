#pragma once
// The parts of a setup of DFModel, each written in a file of its own.  Private to
// export_dfmodel*.cpp.
//
// What a setup has no field for is collected and reported all at once, under the key
// of the config.

#include <string>
#include <utility>
#include <vector>

#include "model/problem.hpp"

namespace dfsearch {

// Of the schema, compiled by protoc.
namespace dfmodel {
class Cost;
class DataflowGraph;
class Execution;
class System;
}  // namespace dfmodel

/// Everything a config may say that a setup cannot.
class Complaints {
 public:
  explicit Complaints(std::string name) : name_(std::move(name)) {}
  void add(const std::string& key, const std::string& what);
  /// An InputError with all of them.
  void throw_if_any() const;

 private:
  std::string name_;
  std::vector<std::string> messages_;
};

/// Whether DFModel has a generator and a block of its own for the workload: DLRM, HPL
/// and FFT.
bool has_own_block(const Workload& workload);

/// Kernels and connections.
void export_graph(const Problem& problem, dfmodel::DataflowGraph& setup, Complaints& complaints);

void export_system(const System& system, dfmodel::System& setup, Complaints& complaints);
void export_cost(const System& system, dfmodel::Cost& setup, Complaints& complaints);

/// The block `llm`, `dlrm`, `hpl` or `fft`, and the word.
void export_workload(const Workload& workload, dfmodel::Execution& setup, Complaints& complaints);

}  // namespace dfsearch
