// The shortest path over cuts is the best of all cuts, one by one.

#include "model/serving/fused_chain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace dfsearch {
namespace {

using namespace serving;

double seconds_of(const std::vector<FusedKernel>& chain, std::size_t first, std::size_t end,
                  Bytes sram, Overlap overlap) {
  double compute = 0.0, memory = 0.0, network = 0.0, bytes = 0.0;
  for (std::size_t i = first; i < end; ++i) {
    compute += chain[i].products;
    memory += chain[i].weights + chain[i].cache;
    network += chain[i].network;
    bytes += chain[i].bytes;
  }
  if (end - first > 1 && Bytes(bytes) > sram) return std::numeric_limits<double>::infinity();
  if (first > 0) memory += chain[first].in;
  if (end < chain.size()) memory += chain[end - 1].out;
  if (overlap == Overlap::None) return compute + memory + network;
  const double both = std::max(compute, memory);
  return overlap == Overlap::Perfect ? std::max(both, network) : both + network;
}

TEST_CASE("the best cuts of a chain are the best of all of them") {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  int with_cuts = 0;
  for (int world = 0; world < 300; ++world) {
    std::vector<FusedKernel> chain(1 + random() % 8);
    for (FusedKernel& kernel : chain) {
      kernel = {.products = any(random),
                .weights = any(random),
                .cache = random() % 3 == 0 ? any(random) : 0.0,
                .network = random() % 3 == 0 ? any(random) : 0.0,
                .in = 0.1 * any(random),
                .out = 0.1 * any(random),
                .bytes = any(random)};
    }
    const Bytes sram(3.0 * any(random));
    for (const Overlap overlap : {Overlap::None, Overlap::Perfect, Overlap::ComputeMemory}) {
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t cuts = 0; cuts < (std::size_t{1} << (chain.size() - 1)); ++cuts) {
        double time = 0.0;
        std::size_t first = 0;
        for (std::size_t i = 0; i < chain.size(); ++i) {
          if (i + 1 < chain.size() && (cuts >> i & 1U) == 0) continue;
          time += seconds_of(chain, first, i + 1, sram, overlap);
          first = i + 1;
        }
        best = std::min(best, time);
        if (cuts == 0) with_cuts += time == std::numeric_limits<double>::infinity();
      }
      const PartTimes found = least_fused(chain, sram, overlap);
      CHECK(std::accumulate(found.begin(), found.end(), 0.0) ==
            doctest::Approx(best).epsilon(1e-12));
    }
  }
  CHECK(with_cuts > 100);
}

}  // namespace
}  // namespace dfsearch
