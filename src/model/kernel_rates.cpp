// Rates of kernels by the roofline (Williams et al., 2009): a kernel runs at the peak of its format
// on the engine that can run it, and data that no SRAM holds passes through memory.

#include "model/kernel_rates.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "graph/workloads/generators.hpp"
#include "model/hpc/fft.hpp"

namespace dfsearch {
namespace {

bool is_fft(const Problem& problem) { return problem.workload.kind == WorkloadKind::Fft; }

/// Whether the kernel runs on the vector engine.
bool is_on_vector(const Problem& problem, const Kernel& kernel) {
  return kernel.mode == Mode::Simd || is_fft(problem);
}

/// The peak that stands for cores, lanes and stages: products of 16 bits.
FlopsPerSecond peak_of_arrays(const Machine& machine) {
  const auto stated = product_peak(machine.peaks, Math::Bf16);
  return stated ? stated->rate : machine.accelerator.peak();
}

/// A butterfly of radix 2 takes ten real operations for two points, so a transform of n points
/// takes 5 log2 n operations for each point.
// docs/model.md (66)
void set_butterflies(Kernel& kernel) {
  const double multiply_adds = 2.5 * std::log2(number(std::max<std::int64_t>(2, kernel.m)));
  kernel.k = static_cast<std::int64_t>(std::ceil(multiply_adds));
  kernel.slowness *= multiply_adds / number(kernel.k);
}

/// docs/model.md (65)
void set_rate(const Problem& problem, const StatedPeak& peak, Kernel& kernel) {
  const Accelerator& chip = problem.system.accelerator;
  kernel.slowness = peak_of_arrays(problem.system) / peak.rate;
  if (is_fft(problem)) set_butterflies(kernel);
  kernel.cycle_scale = kernel.slowness;
  if (kernel.mode == Mode::Simd) {
    // A lane computes one element in a cycle, while an array has a multiply-add in each stage.
    kernel.cycle_scale = chip.peak() / (2.0 * number(chip.stages)) / peak.rate;
  }
}

void set_kernels(Problem& problem, std::vector<Kernel> kernels) {
  DataflowGraph& graph = problem.workload.graph;
  if (kernels == graph.kernels()) return;
  graph = DataflowGraph(std::move(kernels), graph.tensors(), graph.seams());
}

}  // namespace

// docs/model.md (63)
Math math_of(const Problem& problem, const Kernel& kernel) {
  if (kernel.math) return *kernel.math;
  if (problem.execution.math) return *problem.execution.math;
  // Words of an FFT are complex.
  const Bytes word = problem.workload.word / (is_fft(problem) ? 2.0 : 1.0);
  return math_of_word(word, problem.execution.library, problem.system.peaks);
}

std::optional<StatedPeak> peak_of(const Problem& problem, const Kernel& kernel) {
  const Math math = math_of(problem, kernel);
  return is_on_vector(problem, kernel) ? elementwise_peak(problem.system.peaks, math)
                                       : product_peak(problem.system.peaks, math);
}

std::optional<KernelId> set_kernel_rates(Problem& problem) {
  if (!problem.system.peaks.stated()) return std::nullopt;
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const auto peak = peak_of(problem, kernels[k]);
    if (!peak) return KernelId(k);
    set_rate(problem, *peak, kernels[k]);
  }
  set_kernels(problem, std::move(kernels));
  return std::nullopt;
}

// docs/model.md (67), (68)
void set_out_of_core_traffic(Problem& problem) {
  const Workload& workload = problem.workload;
  if (!workload.out_of_core || problem.equations.out_of_core == OutOfCore::Free) return;
  // Kernels of a graph have their own bytes.
  if (workload.kind != WorkloadKind::Fft && workload.kind != WorkloadKind::Hpl) return;
  std::vector<Kernel> kernels = workload.graph.kernels();
  for (Kernel& kernel : kernels) {
    double times = 1.0;
    if (is_fft(problem)) {
      times = number(fft_passes(kernel.m, problem.system.accelerator.sram, workload.word));
    }
    // An update of HPL multiplies a panel by the matrix: the matrix is its M x K.
    const std::int64_t columns = is_fft(problem) ? kernel.n : kernel.k;
    const Bytes matrix = workload.word * (number(kernel.m) * number(columns));
    kernel.sharded_memory = 2.0 * times * matrix;
  }
  set_kernels(problem, std::move(kernels));
}

// docs/model.md (29)
void set_array_loads(Problem& problem) {
  if (problem.equations.array_loads == ArrayLoads::Free) return;
  if (problem.system.accelerator.dataflow == Dataflow::Output) return;
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  for (Kernel& kernel : kernels) kernel.loads_arrays = true;
  set_kernels(problem, std::move(kernels));
}

FlopsPerSecond peak_of_products(const Problem& problem) {
  const FlopsPerSecond peak = problem.system.accelerator.peak();
  if (!problem.system.peaks.stated()) return peak;
  Flops all{};
  Flops slowed{};
  for (const Kernel& kernel : problem.workload.graph.kernels()) {
    if (kernel.mode == Mode::Simd) continue;
    all += kernel_flops(kernel);
    slowed += kernel_flops(kernel) * kernel.slowness;
  }
  return slowed > Flops{} ? peak * (all / slowed) : peak;
}

}  // namespace dfsearch
