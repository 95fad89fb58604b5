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

/// The chips of the innermost dimension with members form a node.
HplNetwork hpl_network(const Machine& machine);

/// Rates of a process whose products run at `product`; all other rates are constants of GPUs.
HplRates hpl_rates(const Machine& machine, FlopsPerSecond product);

/// The task of transforms on this machine, whose points are complex numbers of `element` bytes; its
/// `fast` memory is the SRAM.
FftTask fft_task(const Machine& machine, std::vector<std::int64_t> sides, Bytes element,
                 FlopsPerSecond vector);

}  // namespace dfsearch
