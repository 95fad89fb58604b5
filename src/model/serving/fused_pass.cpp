// Layers of a pass on machines that run fused kernels: a chain of kernels that is cut where the
// memory of the chip does not hold it (see fused_chain.hpp).

#include <algorithm>

#include "model/serving/fused_chain.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch::serving {

std::vector<FusedKernel> Pass::chain_of(const Layer& layer, std::size_t sight,
                                        const PassWork& work) const {
  const double tokens = work.tokens();
  const Scoring scores = scoring(layer, sight, work);
  std::vector<FusedKernel> chain;
  for (std::size_t i = 0; i < layer.products.size(); ++i) {
    const Product& product = layer.products[i];
    const bool is_last = i == layer.last_of_attention;
    if (is_last) {
      // Attention reads the output of the product before it, and makes the input of this one.
      chain.push_back({.products = scores.decode + scores.prefill,
                       .cache = scores.decode_cache + scores.prefill_cache,
                       .in = layer.products[i - 1].out * tokens,
                       .out = product.in * tokens});
    }
    chain.push_back({.products = product.compute * tokens,
                     .weights = product.weights,
                     .network = is_last ? layer.reduce.of(tokens) : 0.0,
                     .in = product.in * tokens,
                     .out = product.out * tokens,
                     .bytes = product.bytes});
  }
  if (layer.has_experts) {
    const Experts& experts = layer.experts;
    const double all = experts.all(work), rows = experts.rows(all);
    chain.push_back({.products = experts.products(all),
                     .weights = experts.weights * experts.hit(all),
                     .in = experts.in * rows,
                     .out = experts.out * rows,
                     .bytes = experts.bytes});
  }
  chain.back().network += layer.network.of(tokens);
  if (layer.has_experts) chain.back().network += layer.network_all.of(layer.experts.all(work));
  return chain;
}

void Pass::put_fused(const Layer& layer, std::size_t sight, const PassWork& work,
                     PartTimes& parts) const {
  const PartTimes own = least_fused(chain_of(layer, sight, work), pool_.machine.accelerator.sram,
                                    pool_.execution.overlap);
  for (std::size_t i = 0; i < kParts; ++i) parts[i] += own[i];
  of(parts, Part::Host) += layer.host;
}

bool Pass::is_cut() const {
  return pool_.execution.style == Style::Dataflow &&
         Bytes(std::max(dense_.weights, expert_.weights)) > pool_.machine.accelerator.sram;
}

}  // namespace dfsearch::serving
