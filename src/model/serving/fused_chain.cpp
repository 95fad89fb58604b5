// Every partition of a chain is an interval of it, so the best cuts are a shortest path over the
// places between kernels (for chains of tasks: Bokhari, IEEE Transactions on Computers 1988).

#include "model/serving/fused_chain.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dfsearch::serving {
namespace {

PartTimes time_of(const FusedKernel& sums, Overlap overlap) {
  PartTimes parts{};
  of(parts, Part::Products) = sums.products;
  // Values of other partitions come and go beside the weights.
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
  std::vector<Rest> from(chain.size() + 1);  // the kernels from here on
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
      // The layer before and the layer after it are on the same chip.
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

}  // namespace dfsearch::serving
