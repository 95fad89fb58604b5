#include "engine/duals/duals.hpp"

namespace dfsearch {

KernelParts parts(Overlap overlap, Ticks compute, Ticks network, Ticks memory) {
  switch (overlap) {
    case Overlap::Perfect:
      return {compute, network, memory};
    case Overlap::ComputeMemory:
      return {compute + network, memory + network, 0};
    case Overlap::None:
      return {compute + network + memory, 0, 0};
  }
  return {};
}

}  // namespace dfsearch
