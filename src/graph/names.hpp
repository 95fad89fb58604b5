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
/// `M/N`: M along the first axis, N along the second; `M` if there is nothing along that.
std::string name_of(LoopPair loops);
/// The names of all pairs, by index.
const std::array<std::string, kLoopPairs>& loop_pair_names();
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
