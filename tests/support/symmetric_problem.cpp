#include "support/symmetric_problem.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/random_problem.hpp"

namespace dfsearch::test {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t kMostKernels = 7;

Kernel some_kernel(Random& random, std::int64_t sequence) {
  Kernel kernel;
  kernel.kind = static_cast<KernelKind>(pick(random, 0, 3));
  const bool product = kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm;
  kernel.mode = product ? Mode::Systolic : Mode::Simd;
  kernel.m = pick(random, 1, 6);
  kernel.k = product ? pick(random, 1, 6) : 1;
  kernel.n = sequence;
  if (chance(random, 20)) {
    kernel.communication = Communication{.type = CommunicationType::AllReduce,
                                         .bytes = Bytes(static_cast<double>(pick(random, 1, 60)))};
  }
  if (chance(random, 10)) kernel.memory = Bytes(static_cast<double>(pick(random, 1, 100)));
  return kernel;
}

/// A graph that grows branch by branch.
class Branches {
 public:
  Branches(Random& random, std::int64_t sequence) : random_(random), sequence_(sequence) {}

  void grow() {
    const bool source = chance(random_, 60);
    const bool sink = chance(random_, 60);
    if (source) add(some_kernel(random_, sequence_));
    const std::size_t room = kMostKernels - (source ? 1U : 0U) - (sink ? 1U : 0U);
    const std::int64_t classes = chance(random_, 30) ? 2 : 1;
    for (std::int64_t c = 0; c < classes; ++c) {
      grow_class(source, room / static_cast<std::size_t>(classes));
    }
    if (!sink) return;
    const std::size_t last = add(some_kernel(random_, sequence_));
    for (const std::size_t end : ends_) join(end, last, 1);
  }

  /// One kernel or tensor is made different from its like.
  void spoil() {
    if (!tensors.empty() && chance(random_, 40)) {
      Tensor& t = tensors[static_cast<std::size_t>(
          pick(random_, 0, static_cast<std::int64_t>(tensors.size()) - 1))];
      t.operand = 3 - t.operand;
    } else {
      kernels[static_cast<std::size_t>(
                  pick(random_, 0, static_cast<std::int64_t>(kernels.size()) - 1))]
          .m += 1;
    }
  }

  /// The list in another order: as it grew, level by level, backwards, or any.
  void reorder() {
    std::vector<std::size_t> list(kernels.size());  // old indices in the new order
    std::iota(list.begin(), list.end(), std::size_t{0});
    const std::int64_t how = pick(random_, 0, 3);
    if (how == 1) {
      const DataflowGraph graph(kernels, tensors);
      std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
        return graph.level(KernelId(a)) < graph.level(KernelId(b));
      });
    } else if (how == 2) {
      std::reverse(list.begin(), list.end());
    } else if (how == 3) {
      for (std::size_t i = list.size(); i > 1; --i) {
        std::swap(
            list[i - 1],
            list[static_cast<std::size_t>(pick(random_, 0, static_cast<std::int64_t>(i) - 1))]);
      }
    }
    std::vector<Kernel> listed(kernels.size());
    std::vector<KernelId> place(kernels.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      listed[i] = kernels[list[i]];
      place[list[i]] = KernelId(i);
    }
    kernels = std::move(listed);
    for (Tensor& t : tensors) {
      t.from = place[t.from.index()];
      t.to = place[t.to.index()];
    }
  }

  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;

 private:
  std::size_t add(Kernel kernel) {
    kernel.name = std::string(1, static_cast<char>('a' + kernels.size()));
    kernels.push_back(std::move(kernel));
    return kernels.size() - 1;
  }
  void join(std::size_t from, std::size_t to, int operand) {
    tensors.push_back({.from = KernelId(from), .to = KernelId(to), .operand = operand});
  }

  /// Equal branches up to a total of `room` kernels, at most four.
  void grow_class(bool source, std::size_t room) {
    const std::int64_t shape = pick(random_, 0, 2);  // a kernel, a chain, a kernel with twins
    const std::size_t size = shape == 0 ? 1 : shape == 1 ? 2 : 3;
    const auto most = static_cast<std::int64_t>(std::min<std::size_t>(room / size, 4));
    if (most < 1) return;
    const std::int64_t count = pick(random_, std::min<std::int64_t>(2, most), most);
    const Kernel head = some_kernel(random_, sequence_);
    const Kernel tail = some_kernel(random_, sequence_);
    const int operand = static_cast<int>(pick(random_, 1, 2));
    for (std::int64_t b = 0; b < count; ++b) {
      const std::size_t first = add(head);
      if (source) join(0, first, operand);
      if (shape == 0) ends_.push_back(first);
      for (std::size_t t = 1; t < size; ++t) {
        const std::size_t end = add(tail);
        join(first, end, 1);
        ends_.push_back(end);
      }
    }
  }

  Random& random_;
  const std::int64_t sequence_;
  std::vector<std::size_t> ends_;
};

/// Branches in the backward phase below a forward source, or all of them.
void make_backward(Random& random, std::vector<Kernel>& kernels) {
  const bool all = chance(random, 30);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (all || k > 0) kernels[k].phase = Phase::Backward;
  }
}

}  // namespace

Problem symmetric_problem(std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.workload.sequence = pick(random, 1, 4);
  Branches branches(random, problem.workload.sequence);
  branches.grow();
  const bool spoilt = chance(random, 25);
  if (spoilt) branches.spoil();
  if (chance(random, 25)) make_backward(random, branches.kernels);
  branches.reorder();
  const std::size_t count = branches.kernels.size();
  problem.workload.graph = DataflowGraph(std::move(branches.kernels), std::move(branches.tensors));

  random_surroundings(random, problem, {.assignments = 20'000});
  problem.execution.style = Style::Dataflow;
  problem.execution.pins.clear();
  if (chance(random, 15)) {  // one kernel of a branch, or two
    problem.execution.pins.resize(count);
    for (std::int64_t pins = pick(random, 1, 2); pins > 0; --pins) {
      problem.execution
          .pins[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 1))] =
          pick(random, 0, *problem.execution.partitions - 1);
    }
  }
  return problem;
}

}  // namespace dfsearch::test
