#include "support/expert_problem.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch::test {
namespace {

class Mixture {
 public:
  explicit Mixture(std::uint64_t seed) : random_(seed) {}

  Problem problem() {
    Problem problem;
    sequence_ = problem.workload.sequence = pick(random_, 1, 4);
    grow();
    problem.workload.graph = DataflowGraph(std::move(kernels_), std::move(tensors_));
    random_surroundings(random_, problem, {.assignments = 1e9});
    problem.execution.style = Style::Dataflow;
    problem.execution.pins.clear();
    return problem;
  }

 private:
  std::size_t add(KernelKind kind, std::int64_t m, std::int64_t k, std::vector<std::size_t> from) {
    Kernel kernel;
    kernel.name = "k" + std::to_string(kernels_.size());
    kernel.kind = kind;
    const bool product = kind == KernelKind::WeightGemm || kind == KernelKind::Gemm;
    kernel.mode = product ? Mode::Systolic : Mode::Simd;
    kernel.phase = phase_;
    kernel.m = m;
    kernel.k = product ? k : 1;
    kernel.n = sequence_;
    kernels_.push_back(std::move(kernel));
    int operand = 0;
    const bool two = kind == KernelKind::Elementwise2 || kind == KernelKind::Gemm;
    for (const std::size_t producer : from) {
      operand = two ? std::min(operand + 1, 2) : 1;
      tensors_.push_back(
          {.from = KernelId(producer), .to = KernelId(kernels_.size() - 1), .operand = operand});
    }
    return kernels_.size() - 1;
  }

  /// Sums by one kernel, two at a time side by side, or one after the other.
  std::size_t sum(std::vector<std::size_t> values) {
    if (how_ == 0) return add(KernelKind::Elementwise, model_, 1, values);
    while (values.size() > 1) {
      const std::size_t added = add(KernelKind::Elementwise2, model_, 1, {values[0], values[1]});
      values.erase(values.begin(), values.begin() + 2);
      values.insert(how_ == 1 ? values.end() : values.begin(), added);
    }
    return values.front();
  }

  void grow() {
    how_ = pick(random_, 0, 2);
    model_ = pick(random_, 1, 6);
    const std::int64_t inner = pick(random_, 1, 6);
    const bool training = pick(random_, 0, 2) == 0;
    const bool gelu = !training && pick(random_, 0, 1) == 0;
    const std::int64_t experts = training ? 2 : gelu ? pick(random_, 2, 3) : pick(random_, 2, 4);
    const std::size_t router = add(KernelKind::Elementwise, model_, 1, {});
    std::vector<std::size_t> ups;
    std::vector<std::size_t> outputs;
    for (std::int64_t e = 0; e < experts; ++e) {
      const std::size_t up = add(KernelKind::WeightGemm, inner, model_, {router});
      const std::size_t middle = gelu ? add(KernelKind::Elementwise, inner, 1, {up}) : up;
      ups.push_back(up);
      outputs.push_back(add(KernelKind::WeightGemm, model_, inner, {middle}));
    }
    sum(outputs);
    if (!training) return;
    phase_ = Phase::Backward;
    const std::size_t gradient = add(KernelKind::Elementwise, model_, 1, {});
    outputs.clear();
    for (const std::size_t up : ups) {
      outputs.push_back(add(KernelKind::WeightGemm, inner, model_, {gradient}));
      add(KernelKind::Gemm, model_, inner, {gradient, up});
    }
    sum(outputs);
  }

  std::mt19937_64 random_;
  std::int64_t sequence_ = 1;
  std::int64_t model_ = 1;
  std::int64_t how_ = 0;
  Phase phase_ = Phase::Forward;
  std::vector<Kernel> kernels_;
  std::vector<Tensor> tensors_;
};

}  // namespace

Problem expert_problem(std::uint64_t seed) { return Mixture(seed).problem(); }

}  // namespace dfsearch::test
