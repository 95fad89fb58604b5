#pragma once
// The names that configs and results use for the enumerations of kernels and workloads.

#include <array>
#include <string>

#include "base/words.hpp"
#include "graph/kernel.hpp"
#include "graph/loop_set.hpp"
#include "graph/workload.hpp"

namespace dfsearch {

constexpr auto words(Loop) {
  return named<Loop>({{"outer", Loop::Outer},
                      {"M", Loop::M},
                      {"K", Loop::K},
                      {"N", Loop::N},
                      {"none", Loop::None}});
}
/// The names of all pairs, by index: `M/N` is M along the first axis and N along the second, `M` is
/// M along the first axis alone.
inline const std::array<std::string, kLoopPairs>& loop_pair_names() {
  static const auto names = [] {
    std::array<std::string, kLoopPairs> all;
    for (std::size_t i = 0; i < kLoopPairs; ++i) {
      const auto [first, second] = LoopPair::at(i).loops;
      all[i] = name_of(first);
      if (second != Loop::None) all[i] += std::string("/") + name_of(second);
    }
    return all;
  }();
  return names;
}
inline std::string name_of(LoopPair loops) { return loop_pair_names()[loops.index()]; }
constexpr auto words(KernelKind) {
  return named<KernelKind>("weight_gemm", "gemm", "elementwise", "elementwise2", "attention");
}
constexpr auto words(Mode) { return named<Mode>("systolic", "simd"); }
constexpr auto words(Phase) { return named<Phase>("forward", "backward"); }
constexpr auto words(Spread) { return named<Spread>("tensor", "grid", "machine"); }
constexpr auto words(CommunicationType) {
  return named<CommunicationType>("all_reduce", "all_gather", "point_to_point",
                                  "gradient_all_reduce", "flat_gradient_all_reduce", "all_to_all",
                                  "transpose", "grid_broadcast", "grid_point_to_point");
}
constexpr auto words(NetworkUse) { return named<NetworkUse>("free", "tensor", "data"); }
constexpr auto words(WorkloadKind) {
  return named<WorkloadKind>("llm_training", "llm_prefill", "llm_decode", "dlrm_training",
                             "dlrm_inference", "hpl", "fft", "lstm", "graph");
}

}  // namespace dfsearch
