// Kernels one after the other, compute and memory of each one after the other as well.
//
// An exchange of its own is waited for in full.  One that hides behind a matrix product is cut in
// as many pieces as the group has chips: all but one overlap with the product, and the longer of
// the two is what they take.

#include "model/calculon/block_times.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace dfsearch::calculon {
namespace {

using PerPass = std::array<Seconds, kPasses>;

/// The operation of an exchange in a pass, if there is one.
// docs/calculon.md (C4)
std::optional<Operation> operation_of(Exchange exchange, Pass pass, bool split) {
  const bool gathers = (exchange == Exchange::Gather) == (pass == Pass::Forward);
  if (split) return gathers ? Operation::AllGather : Operation::ReduceScatter;
  return gathers ? std::nullopt : std::optional(Operation::AllReduce);
}

/// The sums over the kernels seen so far.
class BlockSum {
 public:
  BlockSum(const ModelShape& transformer, const Machine& machine, const Execution& execution,
           const NetworkDimension* network)
      : machine_(machine),
        network_(execution.tensor > 1 ? network : nullptr),
        members_(static_cast<double>(execution.tensor)),
        training_(transformer.training),
        pipe_(execution.overlap == Overlap::Pipe),
        split_base_(execution.communication == Communication::ReduceScatter),
        split_edge_(execution.communication != Communication::AllReduce) {}

  void add(const BlockKernel& kernel) {
    const Engine& engine = kernel.matrix ? machine_.matrix : machine_.vector;
    PerPass compute{};
    PerPass memory{};
    PerPass time{};
    for (std::size_t p = 0; p < passes(); ++p) {
      compute[p] = engine.time(kernel.work[p]);
      memory[p] = machine_.memory[0].time(kernel.traffic[p]);
      time[p] = compute[p] + memory[p];
    }
    if (kernel.overlapped) {
      overlap(kernel, compute, memory, time);
    } else if (kernel.exchange != Exchange::None) {
      exchange(kernel, split_base_, time, sum_.base);
      exchange(kernel, split_edge_, time, sum_.edge);
      time = {};
    }
    const std::array<PassTimes*, kPasses> sums = {&sum_.forward, &sum_.input_gradient,
                                                  &sum_.weight_gradient};
    for (std::size_t p = 0; p < passes(); ++p) {
      sums[p]->time += time[p];
      sums[p]->compute += compute[p];
      sums[p]->memory += memory[p];
    }
    if (!training_ || !kernel.recomputed) return;
    sum_.recompute.time += time[0];
    // The sums up to the kernel, not the kernel's own: (Q2) of docs/calculon.md.
    sum_.recompute.compute += sum_.forward.compute;
    sum_.recompute.memory += sum_.forward.memory;
  }

  [[nodiscard]] const BlockTimes& sum() const { return sum_; }

 private:
  [[nodiscard]] std::size_t passes() const { return training_ ? kPasses : 1; }

  /// The network alone; zero where nothing is exchanged.
  [[nodiscard]] Seconds link(const BlockKernel& kernel, Pass pass, bool split) const {
    if (network_ == nullptr) return {};
    const auto operation = operation_of(kernel.exchange, pass, split);
    if (!operation) return {};
    return operation_time(*network_, *operation, Bytes(kernel.exchanged * kWord), members_);
  }

  /// All of it is waited for, the sums that it needs included.
  // docs/calculon.md (C5)
  void exchange(const BlockKernel& kernel, bool split, const PerPass& sums,
                ExchangeTimes& times) const {
    if (network_ == nullptr) return;
    const Seconds forward = link(kernel, Pass::Forward, split);
    times.forward += forward + sums[0];
    if (!training_) return;
    const Seconds backward = link(kernel, Pass::InputGradient, split) + sums[1];
    times.backward += backward;
    times.backward_link += backward;
    if (!kernel.again) return;
    times.again += forward;
    times.again_link += forward;
  }

  /// The links of the three passes: an exchange that takes place again does so with the
  /// gradient of the weights.
  [[nodiscard]] PerPass overlapped_links(const BlockKernel& kernel, bool split) const {
    const Seconds sums =
        machine_.vector.time(Flops((members_ - 1.0) / members_ * kernel.exchanged));
    const bool gathers = kernel.exchange == Exchange::Gather;
    PerPass links{};
    links[0] = link(kernel, Pass::Forward, split);
    links[1] = link(kernel, Pass::InputGradient, split);
    if (kernel.again) links[2] = links[0];
    Seconds& reducing = links[gathers ? 1 : 0];
    if (reducing > Seconds{}) reducing += sums;
    return links;
  }

  // docs/calculon.md (C6)
  void overlap(const BlockKernel& kernel, const PerPass& compute, const PerPass& memory,
               PerPass& time) {
    if (network_ == nullptr) return;
    const PerPass base = overlapped_links(kernel, split_base_);
    const PerPass edge = overlapped_links(kernel, split_edge_);
    PerPass waited{};
    for (std::size_t p = 0; p < passes(); ++p) {
      if (!(base[p] > Seconds{})) continue;
      const Seconds alone = time[p];
      const Seconds slowed = compute[p] / (1.0 - network_->measured->processor_usage);
      if (base[p] > slowed) {
        time[p] = alone / members_ + (members_ - 1.0) * (slowed + memory[p]) / members_;
        waited[p] = (members_ - 1.0) * (base[p] - slowed) / members_;
      } else {
        time[p] =
            alone + (members_ - 1.0) * network_->measured->processor_usage * base[p] / members_;
      }
      // Rounding must not make it faster than it is alone.
      time[p] = std::max(time[p], alone);
      if (!pipe_) continue;
      // The piece that cannot overlap is in both: (Q1).
      time[p] += base[p] / members_;
      waited[p] += base[p] / members_;
    }
    add_waits(kernel, base, waited, sum_.base);
    add_waits(kernel, edge, waited, sum_.edge);
  }

  void add_waits(const BlockKernel& kernel, const PerPass& links, const PerPass& waited,
                 ExchangeTimes& times) const {
    times.forward += waited[0];
    if (!training_) return;
    times.backward += waited[1];
    times.backward_link += links[1];
    if (!kernel.again) return;
    times.again += waited[0];  // of the forward pass: (Q3)
    times.again_link += links[2];
  }

  const Machine& machine_;
  const NetworkDimension* const network_;
  const double members_;
  const bool training_;
  const bool pipe_;
  const bool split_base_;
  const bool split_edge_;
  BlockTimes sum_;
};

}  // namespace

BlockTimes block_times(const BlockKernels& kernels, const ModelShape& transformer,
                       const Machine& machine, const Execution& execution,
                       const NetworkDimension* network) {
  BlockSum sum(transformer, machine, execution, network);
  for (const BlockKernel& kernel : kernels) sum.add(kernel);
  return sum.sum();
}

// docs/calculon.md (C7)
PassTimes optimizer_times(const BlockKernels& kernels, const Machine& machine, double parts) {
  PassTimes sum;
  for (const BlockKernel& kernel : kernels) {
    if (!(kernel.weights > 0.0)) continue;
    const Seconds compute = machine.vector.time(Flops(11.0 * kernel.weights / parts));
    const Seconds memory = machine.memory[0].time(Bytes(12.0 * kernel.weights / parts));
    sum.time += compute + memory;
    sum.compute += compute;
    sum.memory += memory;
  }
  return sum;
}

Flops useful_work(const BlockKernels& kernels, const ModelShape& transformer, double parts) {
  Flops sum{};
  for (const BlockKernel& kernel : kernels) {
    sum += kernel.work[0];
    if (!transformer.training) continue;
    sum += kernel.work[1] + kernel.work[2] + Flops(11.0 * kernel.weights / parts);
  }
  return sum;
}

}  // namespace dfsearch::calculon
