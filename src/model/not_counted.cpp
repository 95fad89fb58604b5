#include "model/not_counted.hpp"

namespace dfsearch {

std::vector<std::string_view> not_counted_in_memory(const Problem& problem) {
  const Workload& workload = problem.workload;
  if (!workload.graph.has_backward() || workload.out_of_core) return {};
  return {"gradients", "optimizer state", "activations of other layers and micro-batches"};
}

}  // namespace dfsearch
