#include "model/shard.hpp"

namespace dfsearch {
namespace {

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

}  // namespace

Shard shard_of(const Kernel& kernel, Loop sharding, std::int64_t tensor_degree,
               std::int64_t tiles) {
  Shard shard{.m = kernel.outer * kernel.m, .k = kernel.k, .n = kernel.n};
  const auto divide = [&shard](Loop loop, std::int64_t by) {
    switch (loop) {
      case Loop::Outer:
      case Loop::M:
        shard.m = ceil_div(shard.m, by);
        break;
      case Loop::K:
        shard.k = ceil_div(shard.k, by);
        break;
      case Loop::N:
        shard.n = ceil_div(shard.n, by);
        break;
      case Loop::None:
        break;
    }
  };
  divide(sharding, tensor_degree);
  divide(kernel.tiled, tiles);
  return shard;
}

Bytes output_bytes(const Shard& shard, Bytes word) { return word * product(shard.m, shard.n); }

Bytes weight_bytes(const Kernel& kernel, Loop sharding, std::int64_t tensor_degree, Bytes word) {
  if (!kernel.has_weight()) return Bytes{};
  const Shard whole = shard_of(kernel, sharding, tensor_degree, 1);
  return word * product(whole.m, whole.k);
}

Flops tile_flops(const Kernel& kernel, const Shard& shard) {
  const double elements = product(shard.m, shard.n) * static_cast<double>(kernel.repeat);
  return Flops(kernel.mode == Mode::Systolic ? 2.0 * elements * static_cast<double>(shard.k)
                                             : elements);
}

std::int64_t tile_count(const Workload& workload, std::int64_t tile) {
  return ceil_div(workload.sequence, tile);
}

}  // namespace dfsearch
