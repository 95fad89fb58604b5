#include "model/calculon/execution.hpp"

namespace dfsearch::calculon {
namespace {

/// Domains name "yes" before "no".
std::int64_t place_of(bool yes) { return yes ? 0 : 1; }

}  // namespace

Decisions decisions_of(const Execution& e) {
  return {e.tensor,
          e.pipeline,
          e.data,
          e.global_batch,
          e.micro_batch,
          e.chunks,
          static_cast<std::int64_t>(e.recompute),
          place_of(e.sharding),
          static_cast<std::int64_t>(e.communication),
          place_of(e.redo),
          static_cast<std::int64_t>(e.overlap),
          place_of(e.fused),
          place_of(e.offload.weights),
          place_of(e.offload.activations),
          place_of(e.offload.optimizer),
          place_of(e.data_overlap),
          static_cast<std::int64_t>(e.networks[0]),
          static_cast<std::int64_t>(e.networks[1]),
          static_cast<std::int64_t>(e.networks[2])};
}

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::Full:
      return "full";
    case Recompute::Attention:
      return "attn";
    case Recompute::None:
      return "none";
  }
  return "";
}

const char* name_of(Communication communication) {
  switch (communication) {
    case Communication::AllReduce:
      return "ar";
    case Communication::PointToPoint:
      return "p2p";
    case Communication::ReduceScatter:
      return "rs";
  }
  return "";
}

const char* name_of(Overlap overlap) {
  switch (overlap) {
    case Overlap::None:
      return "none";
    case Overlap::Ring:
      return "ring";
    case Overlap::Pipe:
      return "pipe";
  }
  return "";
}

}  // namespace dfsearch::calculon
