#pragma once
// The equations of docs/model.md once more, as plainly as they can be written.
//
// Shares no code with src/model beyond the structs that hold a problem and a
// mapping: plain doubles in place of ticks and quantities, tables in place of
// rules, every core allocation pace tried.  Slow; for graphs of a few kernels.

#include <optional>
#include <vector>

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::test {

struct PlainPartition {
  double compute = 0.0;
  double memory = 0.0;   ///< with the weights, if they are loaded for every sample
  double waiting = 0.0;  ///< latency of an access in it
  double network = 0.0;
  double time = 0.0;
  double sram = 0.0;
};

struct PlainCost {
  std::vector<PlainPartition> partitions;  ///< those with a kernel
  double layer = 0.0;
  double step = 0.0;
  double slowest_stage = 0.0;  ///< for a sample, where stages divide the graph
  double weights = 0.0;
  double activations = 0.0;
  double stored = 0.0;
  double utilization = 0.0;
  double latency = 0.0;            ///< of a request, if the workload serves
  double tokens_per_second = 0.0;  ///< likewise
  double memory_intensity = 0.0;   ///< FLOP for a byte
};

/// Nothing if the mapping does not fit, for whatever reason.
std::optional<PlainCost> plain_cost(const Problem& problem, const Mapping& mapping);

/// The loops that section 4 lets a kernel shard along an axis, in the order of ties.
std::vector<Loop> plain_loops(const Kernel& kernel);

/// Bytes that `sharding: least_bytes` counts: the whole tensors that are all-reduced or converted.
double plain_kernel_bytes(const Problem& problem, std::size_t kernel, LoopPair loop);
double plain_tensor_bytes(const Problem& problem, std::size_t tensor, LoopPair from, LoopPair to);
double plain_tensor_bytes(const Problem& problem, const Tensor& tensor, LoopPair from, LoopPair to);
/// Bytes that a sharding communicates, of values that count as one once for each layout.
double plain_bytes(const Problem& problem, const std::vector<LoopPair>& pairs);

}  // namespace dfsearch::test
