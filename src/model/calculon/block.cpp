#include "model/calculon/block.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

// The table of docs/calculon.md, section 3, row by row.
//
// A kernel is made by its kind (linear, product of two activations, dropout, ...) from the extents
// of one chip's part; class Block then applies recomputation and the split of the sequence.
// Numbers of elements are doubles: exact below 2^53, and without overflow above.

namespace dfsearch::calculon {

namespace {

Bytes bytes(double elements) { return Bytes(elements * kWord); }

/// A kernel whose traffic follows from its elements: inputs, outputs and weights in the forward
/// pass, activations, gradients and weights in the other passes.
BlockKernel plain_kernel(double inputs, double outputs, double activations, double gradients,
                         double weights) {
  BlockKernel kernel;
  kernel.weights = weights;
  kernel.activations = bytes(activations);
  kernel.output = bytes(outputs);
  kernel.gradients = bytes(gradients);
  kernel.traffic[0] = bytes(inputs + outputs + weights);
  kernel.traffic[1] = bytes(weights + activations + gradients);
  if (weights > 0.0) kernel.traffic[2] = kernel.traffic[1];
  return kernel;
}

void set_work(BlockKernel& kernel, double forward, double input_gradient,
              double weight_gradient = 0.0) {
  kernel.work = {Flops(forward), Flops(input_gradient), Flops(weight_gradient)};
}

/// A value goes to several readers, and the gradients of the readers are added.
BlockKernel fork(double elements, double readers) {
  BlockKernel kernel = plain_kernel(elements, 0.0, elements, 0.0, 0.0);
  set_work(kernel, 0.0, readers * elements);
  kernel.traffic[0] = Bytes{};
  kernel.traffic[1] = (readers + 1.0) * bytes(elements);
  return kernel;
}

BlockKernel norm(double elements, double hidden) {
  BlockKernel kernel = plain_kernel(elements, elements, elements, elements, 2.0 * hidden);
  set_work(kernel, 9.0 * elements, 14.0 * elements, 7.0 * elements);
  kernel.working = kernel.kept = false;
  return kernel;
}

BlockKernel linear(double rows, double inputs, double outputs) {
  BlockKernel kernel =
      plain_kernel(rows * inputs, rows * outputs, rows * inputs, rows * outputs, inputs * outputs);
  const double work = 2.0 * rows * inputs * outputs;
  set_work(kernel, work, work, work);
  kernel.matrix = true;
  return kernel;
}

/// A batch of products of two activations, m x k and k x n.
BlockKernel product(double batch, double m, double k, double n) {
  const double inputs = batch * (m * k + k * n);
  BlockKernel kernel = plain_kernel(inputs, batch * m * n, inputs, batch * m * n, 0.0);
  const double work = 2.0 * batch * m * k * n;
  set_work(kernel, work, 2.0 * work);
  kernel.matrix = true;
  return kernel;
}

BlockKernel softmax(double elements) {
  BlockKernel kernel = plain_kernel(elements, elements, elements, elements, 0.0);
  set_work(kernel, 5.0 * elements, 8.0 * elements);
  return kernel;
}

/// A kernel of dropout, which keeps a mask of one byte for each element.
BlockKernel dropout(double elements) {
  BlockKernel kernel = plain_kernel(elements, elements, elements, elements, 0.0);
  set_work(kernel, elements, elements);
  kernel.activations = kernel.gradients = Bytes(elements);
  kernel.traffic[0] = kernel.traffic[1] = bytes(2.0 * elements) + Bytes(elements);
  return kernel;
}

BlockKernel residual(double elements) {
  BlockKernel kernel = plain_kernel(2.0 * elements, elements, 2.0 * elements, elements, 0.0);
  set_work(kernel, elements, 2.0 * elements);
  kernel.working = kernel.kept = false;
  return kernel;
}

BlockKernel gelu(double elements, bool fused) {
  const double stored = fused ? 0.0 : elements;
  BlockKernel kernel = plain_kernel(elements, elements, stored, stored, 0.0);
  set_work(kernel, 8.0 * elements, 13.0 * elements);
  kernel.traffic[1] = kernel.traffic[0];
  return kernel;
}

/// The block of one execution, put together.
class Block {
 public:
  Block(const ModelShape& transformer, const Execution& execution)
      : tensor_(static_cast<double>(execution.tensor)),
        hidden_(static_cast<double>(transformer.hidden)),
        rows_(static_cast<double>(execution.micro_batch) *
              static_cast<double>(transformer.sequence)),
        whole_(rows_ * hidden_),
        split_(execution.communication == Communication::ReduceScatter),
        part_(split_ ? std::floor(rows_ / tensor_) * hidden_ : whole_),
        overlapped_(execution.overlap != Overlap::None),
        fused_(execution.fused),
        full_(execution.recompute == Recompute::Full),
        attention_(full_ || execution.recompute == Recompute::Attention),
        gather_again_(attention_ || execution.redo),
        mlp_gather_again_(full_ || execution.redo) {
    constexpr std::size_t kMost = 24;
    kernels_.reserve(kMost);
    add_attention(transformer, execution);
    add_mlp(static_cast<double>(transformer.mlp));
  }

  [[nodiscard]] BlockKernels take() { return std::move(kernels_); }

 private:
  /// Rows 1 to 15.
  void add_attention(const ModelShape& transformer, const Execution& execution) {
    const double heads = static_cast<double>(transformer.heads);
    const double head_dim = static_cast<double>(transformer.head_dim);
    const double sequence = static_cast<double>(transformer.sequence);
    const double samples = static_cast<double>(execution.micro_batch);
    const double width = heads * head_dim;
    const double scores = std::floor(heads / tensor_) * sequence * sequence * samples;
    const double batch = std::floor(samples * heads / tensor_);
    add(fork(part_, 2.0), full_);
    add(norm(part_, hidden_), full_);
    if (overlapped_) {
      add_overlapped(Exchange::Gather, hidden_, 3.0 * width, gather_again_);
    } else {
      add_exchange(Exchange::Gather, gather_again_);
      BlockKernel three = fork(whole_, 3.0);
      three.kept = !gather_again_;
      add(three, gather_again_);
      BlockKernel projection = linear(rows_, hidden_, std::floor(width / tensor_));
      projection.working = projection.kept = false;
      for (int i = 0; i < 3; ++i) add(projection, full_);
    }
    BlockKernel scored = product(batch, sequence, head_dim, sequence);
    scored.output_kept = !attention_;
    add(scored, attention_);
    BlockKernel soft = softmax(scores);
    soft.output_kept = !attention_;
    add(soft, attention_);
    BlockKernel dropped = dropout(scores);
    dropped.kept = !attention_;
    add(dropped, attention_);
    add(product(batch, sequence, sequence, head_dim), full_);
    add_reduced(width);
  }

  /// Rows 16 to 24.
  void add_mlp(double mlp) {
    add(fork(part_, 2.0), full_);
    add(norm(part_, hidden_), full_);
    if (overlapped_) {
      add_overlapped(Exchange::Gather, hidden_, mlp, mlp_gather_again_);
    } else {
      add_exchange(Exchange::Gather, mlp_gather_again_);
      BlockKernel widened = linear(rows_, hidden_, std::floor(mlp / tensor_));
      widened.kept = !mlp_gather_again_;
      add(widened, full_);
    }
    add(gelu(std::floor(mlp * rows_ / tensor_), fused_), full_);
    add_reduced(mlp);
  }

  /// Adds the last product of attention or of the MLP, its exchange, and the kernels after it: rows
  /// 12 to 15, or 21 to 24.
  void add_reduced(double inputs) {
    if (overlapped_) {
      add_overlapped(Exchange::Reduce, inputs, hidden_, full_);
    } else {
      add(linear(rows_, std::floor(inputs / tensor_), hidden_), full_);
      add_exchange(Exchange::Reduce, full_);
    }
    add(dropout(part_), full_);
    add(residual(part_), full_);
  }

  void add_exchange(Exchange exchange, bool again) {
    const bool gathers = exchange == Exchange::Gather;
    const double elements = tensor_ > 1.0 ? whole_ : 0.0;
    BlockKernel kernel = plain_kernel(elements, elements, elements, elements, 0.0);
    const double sums = elements * (tensor_ - 1.0) / tensor_;
    set_work(kernel, gathers ? 0.0 : sums, gathers ? sums : 0.0);
    if (split_) {
      kernel.activations = kernel.gradients = bytes(elements) / tensor_;
    } else {
      (gathers ? kernel.activations : kernel.gradients) = Bytes{};
      kernel.traffic[gathers ? 0 : 1] = Bytes{};
    }
    kernel.kept = gathers;
    kernel.exchange = exchange;
    kernel.again = again;
    kernel.exchanged = elements;
    kernels_.push_back(kernel);
  }

  void add_overlapped(Exchange exchange, double inputs, double outputs, bool again) {
    const bool gathers = exchange == Exchange::Gather;
    (gathers ? outputs : inputs) /= tensor_;
    double activations = rows_ * inputs;
    double gradients = rows_ * outputs;
    if (split_ && gathers) {
      activations = std::floor(activations / tensor_);
    } else if (split_) {
      gradients = 2.0 * std::floor(gradients / tensor_);
    } else if (gathers) {
      gradients = 0.0;
    } else {
      activations = 0.0;
      gradients = 2.0 * gradients;
    }
    BlockKernel kernel =
        plain_kernel(rows_ * inputs, rows_ * outputs, activations, gradients, inputs * outputs);
    const double work = 2.0 * rows_ * inputs * outputs;
    set_work(kernel, work, work, work);
    kernel.matrix = kernel.overlapped = true;
    kernel.exchange = exchange;
    kernel.again = again;
    kernel.exchanged = gathers ? rows_ * inputs : rows_ * outputs;
    add(kernel, full_);
  }

  void add(const BlockKernel& added, bool recomputed) {
    kernels_.push_back(added);
    kernels_.back().recomputed = recomputed;
  }

  const double tensor_;
  const double hidden_;
  const double rows_;   // tokens of a micro-batch
  const double whole_;  // elements of the activation between kernels
  const bool split_;    // the tensor group splits activations along the sequence
  const double part_;   // elements of a chip's part of that activation
  const bool overlapped_;
  const bool fused_;
  const bool full_;
  const bool attention_;
  const bool gather_again_;
  const bool mlp_gather_again_;
  BlockKernels kernels_;
};

}  // namespace

// docs/calculon.md (C3)
BlockKernels block_kernels(const ModelShape& transformer, const Execution& execution) {
  return Block(transformer, execution).take();
}

// Kernels run one after the other, and the compute and memory times of a kernel add up.
//
// An exchange that is a kernel by itself is waited for in full.  An exchange that hides behind a
// matrix product is cut into one piece for each chip of the group: all pieces but one overlap with
// the product, and the longer of exchange and product counts.

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

  /// The time of an exchange on the network alone; zero if nothing is exchanged.
  [[nodiscard]] Seconds link(const BlockKernel& kernel, Pass pass, bool split) const {
    if (network_ == nullptr) return {};
    const auto operation = operation_of(kernel.exchange, pass, split);
    if (!operation) return {};
    return operation_time(*network_, *operation, Bytes(kernel.exchanged * kWord), members_);
  }

  /// Adds an exchange that is waited for in full, with the sums of its elements.
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

  /// The link times of an exchange in the three passes.  A repeated exchange counts in the pass of
  /// the weight gradients.
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
      // Rounding must not make the product faster than it is without an exchange.
      time[p] = std::max(time[p], alone);
      if (!pipe_) continue;
      // The piece that cannot overlap counts in both sums: (Q1).
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
    times.again += waited[0];  // the wait of the forward pass: (Q3)
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
