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
  static const auto kNames = [] {
    std::array<std::string, kLoopPairs> names;
    for (std::size_t i = 0; i < kLoopPairs; ++i) {
      const auto [first, second] = LoopPair::at(i).loops;
      names[i] = name_of(first);
      if (second != Loop::None) names[i] += std::string("/") + name_of(second);
    }
    return names;
  }();
  return kNames;
}
inline std::string name_of(LoopPair loops) { return loop_pair_names()[loops.index()]; }
constexpr auto words(KernelKind) {
  return named<KernelKind>({{"weight_gemm", KernelKind::WeightGemm},
                            {"gemm", KernelKind::Gemm},
                            {"elementwise", KernelKind::Elementwise},
                            {"elementwise2", KernelKind::Elementwise2},
                            {"attention", KernelKind::Attention}});
}
constexpr auto words(Mode) {
  return named<Mode>({{"systolic", Mode::Systolic}, {"simd", Mode::Simd}});
}
constexpr auto words(Phase) {
  return named<Phase>({{"forward", Phase::Forward}, {"backward", Phase::Backward}});
}
constexpr auto words(Spread) {
  return named<Spread>(
      {{"tensor", Spread::Tensor}, {"grid", Spread::Grid}, {"machine", Spread::Machine}});
}
constexpr auto words(CommunicationType) {
  return named<CommunicationType>(
      {{"all_reduce", CommunicationType::AllReduce},
       {"all_gather", CommunicationType::AllGather},
       {"point_to_point", CommunicationType::PointToPoint},
       {"gradient_all_reduce", CommunicationType::GradientAllReduce},
       {"flat_gradient_all_reduce", CommunicationType::FlatGradientAllReduce},
       {"all_to_all", CommunicationType::AllToAll},
       {"transpose", CommunicationType::Transpose},
       {"grid_broadcast", CommunicationType::GridBroadcast},
       {"grid_point_to_point", CommunicationType::GridPointToPoint}});
}
constexpr auto words(NetworkUse) {
  return named<NetworkUse>(
      {{"free", NetworkUse::Free}, {"tensor", NetworkUse::Tensor}, {"data", NetworkUse::Data}});
}
constexpr auto words(WorkloadKind) {
  return named<WorkloadKind>({{"llm_training", WorkloadKind::LlmTraining},
                              {"llm_prefill", WorkloadKind::LlmPrefill},
                              {"llm_decode", WorkloadKind::LlmDecode},
                              {"dlrm_training", WorkloadKind::DlrmTraining},
                              {"dlrm_inference", WorkloadKind::DlrmInference},
                              {"hpl", WorkloadKind::Hpl},
                              {"fft", WorkloadKind::Fft},
                              {"lstm", WorkloadKind::Lstm},
                              {"graph", WorkloadKind::Graph}});
}

}  // namespace dfsearch
