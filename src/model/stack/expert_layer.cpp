// Transformer Engine issues a product and a cast for each expert of a chip, so the host takes
// longer the more experts a chip has.  Dispatchers differ in the number of passes over the rows:
// before and after NCCL's all-to-all, one kernel sorts the rows and another permutes them, and both
// read and write all rows.

#include "model/stack/expert_layer.hpp"

namespace dfsearch::stack {
namespace {

// Passes over rows, in words of each element.
constexpr double kAllToAllWords = 8.0, kDeepEpWords = 4.0;
/// The share of the host time of a layer without experts that is left if graphs replay the layer.
constexpr double kReplayed = 0.03;
/// Backward, the router issues fewer kernels, and each product becomes two.
constexpr double kRouterBackward = 0.8, kProductsBackward = 2.0;
// Bytes of an input element of products in 8 bits, in 8 bits with scales of blocks, in 4 bits.
constexpr double kEightBits = 1.0, kBlocksOfEight = 1.03, kFourBits = 0.5625;

}  // namespace

// docs/truth.md (17)
HostTimes expert_host(const Setup& setup, const Switches& switches, double local_experts,
                      double halves) {
  if (switches.replays_layers) return {};
  const Stack& stack = setup.stack;
  const double pace = typical(setup.chip.cpu) *
                      (switches.expert_overlap ? typical(stack.overlap_host) : 1.0) *
                      setup.scenario.host;
  const double attention =
      switches.replays_attention ? 0.0 : typical(stack.attention_host) * (halves - 1.0);
  const Seconds router = switches.replays_router ? Seconds{} : typical(stack.router_host);
  const bool is_cast = setup.bits() != Bits::Sixteen;
  const bool is_fused = switches.grouped == Grouped::Fused;
  const double launches = local_experts * (is_cast ? 1.0 : typical(stack.launch_16bit));
  const Seconds products = is_fused ? Seconds{} : typical(stack.expert_launch) * launches;
  const Seconds dispatch = typical(stack.dispatch_host);
  return {
      .forward = (typical(stack.host_forward) * attention + router + dispatch + products) * pace,
      .backward = (typical(stack.host_backward) * attention + router * kRouterBackward + dispatch +
                   products * kProductsBackward) *
                  pace};
}

HostTimes dense_host(const Setup& setup, const Switches& switches, Seconds beside, double halves) {
  const Stack& stack = setup.stack;
  const double issued = switches.replays_layers      ? kReplayed
                        : switches.replays_attention ? 1.0 - typical(stack.attention_host)
                                                     : 1.0;
  const double factor = issued * (halves / 2.0);
  return {.forward = (typical(stack.host_forward) * factor + beside) * setup.scenario.host,
          .backward = (typical(stack.host_backward) * factor + beside) * setup.scenario.host};
}

// docs/truth.md (18)
double permuted_words(const Stack& stack, const Switches& switches) {
  switch (switches.dispatcher) {
    case Dispatcher::AllToAll:
      return kAllToAllWords * (stack.software.permute_fusion ? 1.0 : 2.0);
    case Dispatcher::DeepEp:
      return kDeepEpWords;
    case Dispatcher::HybridEp:
      break;
  }
  return typical(stack.hybridep_words);
}

// docs/truth.md (19)
Seconds with_exchanges(Seconds device, Seconds exchanges, double hidden) {
  return std::max(device + exchanges * (1.0 - hidden), exchanges);
}

double gathered_share(const Setup& setup) {
  if (!setup.stack.quantized_gathers || setup.bits() == Bits::Sixteen) return 1.0;
  if (setup.bits() == Bits::Four) return kFourBits / kWord;
  return (setup.precision == Precision::Mxfp8 ? kBlocksOfEight : kEightBits) / kWord;
}

double fullest_load(const Stack& stack) {
  return stack.software.balance == Balance::Natural ? typical(stack.natural_load) : 1.0;
}

}  // namespace dfsearch::stack
