#pragma once
// A layer of experts with the software of a stack: the time of the host to issue the layer, the
// words that move for its rows, and exchanges that overlap other work (docs/truth.md, section 11).

#include <algorithm>

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// Times of the host, for a layer in each direction.
struct HostTimes {
  Seconds forward{}, backward{};
};

/// The time to issue a layer with `local_experts` on each chip, exchanges included.  `halves`
/// counts the parts that add their output to their input: attention or a scan, and experts.
/// docs/truth.md (17)
HostTimes expert_host(const Setup& setup, const Switches& switches, double local_experts,
                      double halves = 2.0);
/// The time to issue a layer without experts, with `beside` added in each direction.
HostTimes dense_host(const Setup& setup, const Switches& switches, Seconds beside,
                     double halves = 2.0);

/// Words that move for each element of the rows of experts of a chip, on the way to the experts and
/// back, in the forward pass.
/// docs/truth.md (18)
double permuted_words(const Stack& stack, const Switches& switches);
/// The factor on routing, permuting and activations backward.
inline constexpr double kExpertBackward = 1.6;

/// The time of a direction with exchanges of experts, of which a share `hidden` hides behind the
/// other pass of another micro-batch.  It never falls if `device` or `exchanges` grows.
/// docs/truth.md (19)
Seconds with_exchanges(Seconds device, Seconds exchanges, double hidden);

/// The size of an input that tensor ranks gather, as a share of its size in 16 bits.
double gathered_share(const Setup& setup);

/// The rows of experts of the fullest chip, as a multiple of an even load.
double fullest_load(const Stack& stack);

/// The part of exchanges that is exposed if the share `hiding` of a pass hides them; at least the
/// share `least` of them. docs/truth.md (21)
inline Seconds exposed_beside(Seconds exchanges, Seconds pass, double hiding, double least) {
  return std::max(exchanges - pass * hiding, exchanges * least);
}

}  // namespace dfsearch::stack
