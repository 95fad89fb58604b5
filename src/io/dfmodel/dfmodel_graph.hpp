#pragma once
// The dataflow graph of a DFModel setup.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "io/dfmodel/dfmodel_text.hpp"

namespace dfsearch {

/// A communication of a kernel in the terms of a setup.
struct SetupCommunication {
  std::string type;  ///< empty: none
  double bytes = 0.0;
};

struct SetupKernel {
  SetupNode node;  ///< `kernels`
  SetupNode body;  ///< its variant
  std::int64_t id = 0;
  Kernel kernel;  ///< without its communication
  SetupCommunication communication;
  SetupCommunication second_communication;
  std::optional<Loop> sharding;
};

struct SetupTensor {
  SetupNode node;  ///< `connections`
  Tensor tensor;
};

/// Kernels and tensors in the order of the setup.
struct SetupGraph {
  std::vector<SetupKernel> kernels;
  std::vector<SetupTensor> tensors;
};

/// Reads kernels and connections; reports missing and duplicate ids and names, dangling
/// connections, sizes that contradict the extents, and fields that no config can express.  The
/// graph is complete only if nothing was reported.
SetupGraph read_setup_graph(const SetupNode& section, Bytes word);

/// Gives each kernel the communication that `kind: graph` has for it; reports types it lacks, and
/// connections whose communication does not follow from the sharding.
void express_communication(SetupGraph& graph, Bytes word);

/// Reports a `sharding` on a loop that the kernel cannot be sharded on.
void check_shardings(const SetupGraph& graph);

/// The partition to which `config` pins each kernel; none if DFModel ignores the pins (`pinned`
/// false).
std::vector<std::optional<std::int64_t>> read_config_pins(const SetupGraph& graph, bool pinned,
                                                          std::int64_t partitions);

/// Reports differences between the setup and values that DFModel computes by itself (levels, buffer
/// depths, names), and a graph with a cycle.  Returns the graph if there is nothing to report.
std::optional<DataflowGraph> checked_graph(const SetupGraph& graph, const SetupNode& section);

Bytes output_size(const Kernel& kernel, Bytes word);

/// Equal within the seven digits with which DFModel prints sizes.
bool same_size(double a, double b);

/// The one or two fields for the sizes of the inputs of a kernel of this kind.
std::vector<std::string> input_size_fields(KernelKind kind);

struct SetupSystem {
  std::string yaml;  ///< the section `system:`
  std::size_t dimensions = 0;
  std::int64_t chips = 1;
  std::int64_t data_degree = 1;  ///< 1 if it is not given
};

/// `copies`: number of copies of the workload on the machine; DFModel gives the degrees of one
/// copy.
SetupSystem read_setup_system(const SetupNode& section, std::int64_t copies);

/// The sections `price:` and `power:` for a network of `dimensions` dimensions.
std::string setup_cost_yaml(const SetupNode& cost, std::size_t dimensions);

/// The `workload:` section of a `dlrm`, `hpl` or `fft` block.  Reports the first kernel or
/// connection of the graph that differs from the generator's.  `execution` is the message around
/// the block, `chips` the chips of the whole system.  Sets the spread of the kernels of `graph`.
std::string generated_workload_yaml(const SetupNode& execution, const SetupNode& block,
                                    SetupGraph& graph, std::int64_t word, std::int64_t chips);

}  // namespace dfsearch
