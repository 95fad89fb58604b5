// Every partition is an interval of the chain, so the best cuts are a shortest path over the
// positions between kernels (for chains of tasks: Bokhari, IEEE Transactions on Computers 1988).
// The layers of a pass on machines that run fused kernels are such chains.

#include "model/serving/fused_chain.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "model/serving/pass.hpp"

namespace dfsearch::serving {
namespace {

PartTimes time_of(const FusedKernel& sums, Overlap overlap) {
  PartTimes parts{};
  of(parts, Part::Products) = sums.products;
  // Values from and to other partitions share the memory bandwidth with the weights.
  of(parts, Part::Weights) = sums.weights + sums.in + sums.out;
  of(parts, Part::Cache) = sums.cache;
  of(parts, Part::Network) = sums.network;
  const double memory = of(parts, Part::Weights) + of(parts, Part::Cache);
  const auto hide = [&](std::initializer_list<Part> hidden) {
    for (const Part part : hidden) of(parts, part) = 0.0;
  };
  if (overlap != Overlap::None) {
    sums.products >= memory ? hide({Part::Weights, Part::Cache}) : hide({Part::Products});
  }
  if (overlap == Overlap::Perfect) {
    sums.network > std::max(sums.products, memory)
        ? hide({Part::Products, Part::Weights, Part::Cache})
        : hide({Part::Network});
  }
  return parts;
}

}  // namespace

PartTimes least_fused(const std::vector<FusedKernel>& chain, Bytes sram, Overlap overlap) {
  struct Rest {
    double time = std::numeric_limits<double>::infinity();
    PartTimes parts{};
  };
  std::vector<Rest> from(chain.size() + 1);  // by index: the best cuts of all kernels from there on
  from.back().time = 0.0;
  for (std::size_t first = chain.size(); first-- > 0;) {
    FusedKernel sums;
    for (std::size_t last = first; last < chain.size(); ++last) {
      const FusedKernel& kernel = chain[last];
      sums.products += kernel.products;
      sums.weights += kernel.weights;
      sums.cache += kernel.cache;
      sums.network += kernel.network;
      sums.bytes += kernel.bytes;
      if (last > first && Bytes(sums.bytes) > sram) break;
      // Values from the layer before and to the layer after stay on the chip.
      sums.in = first > 0 ? chain[first].in : 0.0;
      sums.out = last + 1 < chain.size() ? kernel.out : 0.0;
      const PartTimes own = time_of(sums, overlap);
      const double time = std::accumulate(own.begin(), own.end(), from[last + 1].time);
      if (time > from[first].time) continue;
      from[first].time = time;
      for (std::size_t i = 0; i < kParts; ++i) {
        from[first].parts[i] = own[i] + from[last + 1].parts[i];
      }
    }
  }
  return from.front().parts;
}

std::vector<FusedKernel> Pass::chain_of(const Layer& layer, const PassWork& work) const {
  const double tokens = work.tokens();
  const Scoring scores = scoring(layer, work);
  std::vector<FusedKernel> chain;
  for (std::size_t i = 0; i < layer.products.size(); ++i) {
    const Product& product = layer.products[i];
    const bool is_last = i == layer.last_of_attention;
    if (is_last) {
      // Attention reads the output of the product before it, and computes the input of this
      // product.
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

void Pass::put_fused(const Layer& layer, const PassWork& work, PartTimes& parts) const {
  const PartTimes own =
      least_fused(chain_of(layer, work), pool_.machine.accelerator.sram, pool_.execution.overlap);
  for (std::size_t i = 0; i < kParts; ++i) parts[i] += own[i];
  of(parts, Part::Host) += layer.host;
}

bool Pass::is_cut() const {
  return pool_.execution.style == Style::Dataflow &&
         std::any_of(kinds_.begin(), kinds_.end(), [&](const Layer& layer) {
           return Bytes(layer.weights) > pool_.machine.accelerator.sram;
         });
}

}  // namespace dfsearch::serving
