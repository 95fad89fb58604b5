#pragma once
// The peak at which each kernel runs, and the traffic of kernels that work out of core
// (docs/model.md, sections 2 and 6).  Both follow from the workload, the machine and the execution
// before a search begins, and are kept in the kernels of the graph.

#include <optional>

#include "model/machine/peaks.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The format in which the kernel computes: its own format, or else the format of the execution, or
/// else the format that follows from the words.
Math math_of(const Problem& problem, const Kernel& kernel);

/// The stated peak at which the kernel runs; nothing if the chip states none for its format.
std::optional<StatedPeak> peak_of(const Problem& problem, const Kernel& kernel);

/// Sets the slowness and the cycles of every kernel by the stated peaks of the chip.  Returns a
/// kernel whose format has no peak, and then changes nothing; without stated peaks it does nothing.
std::optional<KernelId> set_kernel_rates(Problem& problem);

/// Sets the bytes of HPL and FFT between memory and the chip, which must have its SRAM.
void set_out_of_core_traffic(Problem& problem);

/// Sets whether loading the operand that stays in the arrays takes time.
void set_array_loads(Problem& problem);

/// The FLOP/s of a chip at the peaks of the formats in which the products of the workload run.
FlopsPerSecond peak_of_products(const Problem& problem);

}  // namespace dfsearch
