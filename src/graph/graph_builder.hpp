#pragma once
// Short ways to write down the kernels and tensors of a generated workload.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// Collects kernels in the order of the list.  Each call returns the kernel, so that further
/// members can be set; the reference holds until the next call.
class GraphBuilder {
 public:
  Kernel& elementwise(std::string name, std::int64_t outer, std::int64_t m, std::int64_t n) {
    return add({.name = std::move(name), .outer = outer, .m = m, .n = n});
  }
  Kernel& elementwise2(std::string name, std::int64_t outer, std::int64_t m, std::int64_t n) {
    Kernel& kernel = elementwise(std::move(name), outer, m, n);
    kernel.kind = KernelKind::Elementwise2;
    return kernel;
  }
  Kernel& weight_gemm(std::string name, std::int64_t outer, std::int64_t m, std::int64_t k,
                      std::int64_t n) {
    Kernel& kernel = gemm(std::move(name), outer, m, k, n);
    kernel.kind = KernelKind::WeightGemm;
    return kernel;
  }
  Kernel& gemm(std::string name, std::int64_t outer, std::int64_t m, std::int64_t k,
               std::int64_t n) {
    return add({.name = std::move(name),
                .kind = KernelKind::Gemm,
                .mode = Mode::Systolic,
                .outer = outer,
                .m = m,
                .k = k,
                .n = n});
  }
  Kernel& weight_update(std::string name, std::int64_t m, std::int64_t k, std::int64_t n) {
    Kernel& kernel = gemm(std::move(name), 1, m, k, n);
    kernel.tiled = Loop::K;
    kernel.communication = Communication{.type = CommunicationType::GradientAllReduce, .bytes = {}};
    return kernel;
  }
  void begin_backward() { phase_ = Phase::Backward; }
  /// The second kernel uses the weight of the first, which is stored once.
  void share_weight(std::string_view owner, std::string_view user) {
    find(user).weight_of = KernelId(static_cast<std::size_t>(&find(owner) - kernels_.data()));
  }

  /// Joins two kernels by their numbers in the list, counted from 1.  The first
  /// tensor into a kernel is its operand 1, the next its operand 2.
  void connect(std::int64_t from, std::int64_t to) {
    const auto consumer = static_cast<std::size_t>(to - 1);
    tensors_.push_back({.from = KernelId(static_cast<std::size_t>(from - 1)),
                        .to = KernelId(consumer),
                        .operand = ++operands_[consumer]});
  }
  template <class Pairs>
  void connect(const Pairs& pairs) {
    for (const auto& [from, to] : pairs) connect(from, to);
  }
  /// Connects `rows` rows of a value that several kernels read, or the whole output if `rows` is 0.
  /// From the second tensor on, the tensors into a kernel are parts of operand 2.
  void connect_value(std::int64_t from, std::int64_t to, std::int64_t rows) {
    connect(from, to);
    tensors_.back().operand = std::min(tensors_.back().operand, 2);
    tensors_.back().value = rows > 0 ? 1 : 0;
    tensors_.back().rows = rows;
  }
  /// Makes `rows` rows of kernel `from` an input of the next step of kernel `to`; 0: the whole
  /// output.
  void hand_to_next_step(std::int64_t from, std::int64_t to, std::int64_t rows) {
    seams_.push_back({.from = KernelId(static_cast<std::size_t>(from - 1)),
                      .to = KernelId(static_cast<std::size_t>(to - 1)),
                      .value = rows > 0 ? 1 : 0,
                      .rows = rows,
                      .next_step = true});
  }
  /// The number of the last kernel.
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(kernels_.size()); }
  /// Makes the output of kernel `from` an input of kernel `to` of the next layer, or of the
  /// one before if both are backward kernels.
  void hand_over(std::int64_t from, std::int64_t to) {
    const KernelId consumer(static_cast<std::size_t>(to - 1));
    const bool is_first = std::none_of(seams_.begin(), seams_.end(),
                                       [&](const Tensor& seam) { return seam.to == consumer; });
    seams_.push_back({.from = KernelId(static_cast<std::size_t>(from - 1)),
                      .to = consumer,
                      .operand = is_first ? 1 : 2});
  }
  /// Exchanges the operands of a kernel whose operand 2 is first in the list.
  void swap_operands(std::int64_t kernel) {
    for (Tensor& tensor : tensors_) {
      if (tensor.to == KernelId(static_cast<std::size_t>(kernel - 1))) {
        tensor.operand = 3 - tensor.operand;
      }
    }
  }

  DataflowGraph build() && { return {std::move(kernels_), std::move(tensors_), std::move(seams_)}; }

 private:
  Kernel& find(std::string_view name) {
    return *std::find_if(kernels_.begin(), kernels_.end(),
                         [name](const Kernel& kernel) { return kernel.name == name; });
  }
  Kernel& add(Kernel kernel) {
    kernel.phase = phase_;
    operands_.push_back(0);
    return kernels_.emplace_back(std::move(kernel));
  }

  Phase phase_ = Phase::Forward;
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
  std::vector<Tensor> seams_;
  std::vector<int> operands_;  // number of tensors that lead into each kernel
};

}  // namespace dfsearch
