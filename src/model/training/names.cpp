#include "model/training/names.hpp"

namespace dfsearch::training {

// clang-format off
const char* name_of(Role role) {
  switch (role) {
    case Role::Tensor: return "tensor";
    case Role::Context: return "context";
    case Role::Expert: return "expert";
    case Role::Data: return "data";
    case Role::Pipeline: return "pipeline";
  }
  return "";
}

const char* name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::OneForwardOneBackward: return "1f1b";
    case Schedule::Interleaved: return "interleaved";
    case Schedule::ZeroBubble: return "zb_h1";
    case Schedule::GPipe: return "gpipe";
  }
  return "";
}

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::None: return "none";
    case Recompute::Selective: return "selective";
    case Recompute::Full: return "full";
  }
  return "";
}

// clang-format on

std::string name_of(TensorLayout layout) {
  if (layout == TensorLayout::LeastSent) return "least_sent";
  if (layout == TensorLayout::LeastKept) return "least_kept";
  return "front_" + std::to_string(place_in_front(layout));
}

}  // namespace dfsearch::training
