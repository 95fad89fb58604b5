#pragma once
// Small worlds of the workloads that use the whole machine, and of decoding:
// generated graphs, and random ones with the same kinds of kernels.

#include <cstdint>

#include "model/problem.hpp"
#include "support/random_problem.hpp"

namespace dfsearch::test {

/// What a seed gives, in turn.
enum class MachineWorld : std::uint8_t { DlrmTraining, DlrmInference, Hpl, Fft, Decode, Mixed };

constexpr MachineWorld machine_world(std::uint64_t seed) {
  return static_cast<MachineWorld>(seed % 6);
}

/// A random problem; it depends on the seed alone, on every machine.  Latencies, copies, stored
/// data, a second tier of memory and every switch of the equations come up.
Problem random_machine_problem(std::uint64_t seed, const WorldLimits& limits = {});

}  // namespace dfsearch::test
