#include "graph/workloads/llm/value_graph.hpp"

#include <utility>

namespace dfsearch {

ValueGraph::ValueId ValueGraph::add(Node node) {
  values_.push_back({.kernel = nodes_.size(),
                     .number = 0,
                     .rows = node.kernel.outer * node.kernel.m,
                     .is_part = false});
  nodes_.push_back(std::move(node));
  return values_.size() - 1;
}

ValueGraph::ValueId ValueGraph::part(ValueId of, std::int64_t rows) {
  std::int32_t number = 1;
  for (const Value& value : values_) {
    if (value.kernel == values_[of].kernel && value.is_part) ++number;
  }
  values_.push_back(
      {.kernel = values_[of].kernel, .number = number, .rows = rows, .is_part = true});
  return values_.size() - 1;
}

void ValueGraph::save(ValueId of, ValueId value) {
  nodes_[values_[of].kernel].saved.push_back(value);
}

DataflowGraph ValueGraph::build() const {
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (const Node& node : nodes_) {
    const KernelId id(kernels.size());
    kernels.push_back(node.kernel);
    for (const Input& input : node.inputs) {
      const Value& value = values_[input.value];
      tensors.push_back({.from = KernelId(value.kernel),
                         .to = id,
                         .operand = input.operand,
                         .value = value.number,
                         .rows = value.is_part ? value.rows : 0});
    }
  }
  std::vector<Tensor> seams;
  for (const Seam& seam : seams_) {
    seams.push_back(
        {.from = KernelId(values_[seam.from].kernel), .to = KernelId(values_[seam.to].kernel)});
  }
  return {std::move(kernels), std::move(tensors), std::move(seams)};
}

}  // namespace dfsearch
