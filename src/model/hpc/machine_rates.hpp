#pragma once
// The rates of a machine as HPL, FFT and collectives take them (docs/hpc.md).

#include <vector>

#include "model/hpc/fft.hpp"
#include "model/hpc/hpl.hpp"
#include "model/machine/collective_forms.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

/// The dimensions with members, innermost first; all degrees of the machine are given.
std::vector<collective::Axis> axes_of(const Machine& machine);

/// Nodes are the innermost dimension, if there is another one.
HplNetwork hpl_network(const Machine& machine);

/// Rates of a process with products at `product`, and constants of GPUs for all else.
HplRates hpl_rates(const Machine& machine, FlopsPerSecond product);

/// The task of transforms of this machine, whose points are complex numbers of `element` bytes:
/// without `fast` a core holds what the SRAM holds.
FftTask fft_task(const Machine& machine, std::vector<std::int64_t> sides, Bytes element,
                 FlopsPerSecond vector);

}  // namespace dfsearch
