#include "graph/names.hpp"

#include "base/error.hpp"

namespace dfsearch {

// Switches without a default, so that the compiler names a forgotten value.
// clang-format off

const char* name_of(Loop loop) {
  switch (loop) {
    case Loop::None: return "none";
    case Loop::Outer: return "outer";
    case Loop::K: return "K";
    case Loop::M: return "M";
    case Loop::N: return "N";
  }
  throw InternalError("a loop without a name");
}

const char* name_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::WeightGemm: return "weight_gemm";
    case KernelKind::Gemm: return "gemm";
    case KernelKind::Elementwise: return "elementwise";
    case KernelKind::Elementwise2: return "elementwise2";
    case KernelKind::Attention: return "attention";
  }
  throw InternalError("a kind of kernel without a name");
}

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::Systolic: return "systolic";
    case Mode::Simd: return "simd";
  }
  throw InternalError("a mode without a name");
}

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::Forward: return "forward";
    case Phase::Backward: return "backward";
  }
  throw InternalError("a phase without a name");
}

const char* name_of(Spread spread) {
  switch (spread) {
    case Spread::Tensor: return "tensor";
    case Spread::Grid: return "grid";
    case Spread::Machine: return "machine";
  }
  throw InternalError("a spread without a name");
}

const char* name_of(CommunicationType type) {
  switch (type) {
    case CommunicationType::AllReduce: return "all_reduce";
    case CommunicationType::AllGather: return "all_gather";
    case CommunicationType::PointToPoint: return "point_to_point";
    case CommunicationType::GradientAllReduce: return "gradient_all_reduce";
    case CommunicationType::FlatGradientAllReduce: return "flat_gradient_all_reduce";
    case CommunicationType::AllToAll: return "all_to_all";
    case CommunicationType::Transpose: return "transpose";
    case CommunicationType::GridBroadcast: return "grid_broadcast";
    case CommunicationType::GridPointToPoint: return "grid_point_to_point";
  }
  throw InternalError("a communication without a name");
}

const char* name_of(NetworkUse use) {
  switch (use) {
    case NetworkUse::Free: return "free";
    case NetworkUse::Tensor: return "tensor";
    case NetworkUse::Data: return "data";
  }
  throw InternalError("a use of the network without a name");
}

const char* name_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::LlmTraining: return "llm_training";
    case WorkloadKind::LlmPrefill: return "llm_prefill";
    case WorkloadKind::LlmDecode: return "llm_decode";
    case WorkloadKind::DlrmTraining: return "dlrm_training";
    case WorkloadKind::DlrmInference: return "dlrm_inference";
    case WorkloadKind::Hpl: return "hpl";
    case WorkloadKind::Fft: return "fft";
    case WorkloadKind::Graph: return "graph";
  }
  throw InternalError("a kind of workload without a name");
}
// clang-format on

}  // namespace dfsearch
