#include "model/layer/shard.hpp"

#include <doctest/doctest.h>

#include "support/model_worlds.hpp"

namespace dfsearch {
namespace {

using test::elementwise;
using test::gemm;
using test::tensor;
using test::weight_gemm;

constexpr Loop kLoops[] = {Loop::None, Loop::Outer, Loop::K, Loop::M, Loop::N};

/// Three heads of 5 x 7 x 11: M counts 15.
Kernel heads(Loop tiled = Loop::N) {
  Kernel kernel = gemm("heads", 5, 7, 11);
  kernel.outer = 3;
  kernel.tiled = tiled;
  return kernel;
}

/// The largest part when `extent` elements are dealt to `parts` one by one.
std::int64_t largest_part(std::int64_t extent, std::int64_t parts) {
  std::int64_t largest = 0;
  for (std::int64_t dealt = 0; dealt < extent; dealt += parts) ++largest;
  return largest;
}

TEST_CASE("an unsharded, untiled kernel is whole, with the heads counted in M") {
  CHECK(shard_of(heads(), Loop::None, 4, 1) == Shard{.m = 15, .k = 7, .n = 11});
}

TEST_CASE("sharding divides its loop and rounds up") {
  CHECK(shard_of(heads(), Loop::Outer, 2, 1) == Shard{.m = 10, .k = 7, .n = 11});  // two of three
  CHECK(shard_of(heads(), Loop::Outer, 100, 1) == Shard{.m = 5, .k = 7, .n = 11});
  const ChipGrid published{.tensor = 4, .splits_heads = true};
  CHECK(shard_of(heads(), Loop::Outer, published, 1) == Shard{.m = 4, .k = 7, .n = 11});  // 15 / 4
  CHECK(shard_of(heads(), Loop::M, 4, 1) == Shard{.m = 4, .k = 7, .n = 11});
  CHECK(shard_of(heads(), Loop::K, 4, 1) == Shard{.m = 15, .k = 2, .n = 11});  // 7 / 4
  CHECK(shard_of(heads(), Loop::N, 4, 1) == Shard{.m = 15, .k = 7, .n = 3});   // 11 / 4
}

TEST_CASE("tiles divide the tiled loop and round up") {
  CHECK(shard_of(heads(Loop::Outer), Loop::None, 4, 2) == Shard{.m = 8, .k = 7, .n = 11});
  CHECK(shard_of(heads(Loop::M), Loop::None, 4, 2) == Shard{.m = 8, .k = 7, .n = 11});
  CHECK(shard_of(heads(Loop::K), Loop::None, 4, 2) == Shard{.m = 15, .k = 4, .n = 11});
  CHECK(shard_of(heads(Loop::N), Loop::None, 4, 2) == Shard{.m = 15, .k = 7, .n = 6});
  CHECK(shard_of(heads(Loop::None), Loop::None, 4, 2) == Shard{.m = 15, .k = 7, .n = 11});
}

TEST_CASE("a degree above the extent leaves one element") {
  CHECK(shard_of(heads(), Loop::K, 100, 100) == Shard{.m = 15, .k = 1, .n = 1});
}

// M and outer share the extent m, so a kernel tiled on one and sharded on the
// other is divided twice: first by the degree.
TEST_CASE("every loop is dealt to the chips first and to the tiles second") {
  for (const Loop sharded : kLoops) {
    for (const Loop tiled : kLoops) {
      for (std::int64_t degree = 1; degree <= 6; ++degree) {
        for (std::int64_t tiles = 1; tiles <= 6; ++tiles) {
          CAPTURE(static_cast<int>(sharded));
          CAPTURE(static_cast<int>(tiled));
          CAPTURE(degree);
          CAPTURE(tiles);
          const auto part = [&](std::int64_t extent, auto... loops) {
            std::int64_t left = extent;
            if (((sharded == loops) || ...)) left = largest_part(left, degree);
            if (((tiled == loops) || ...)) left = largest_part(left, tiles);
            return left;
          };
          Shard expected{
              .m = part(15, Loop::Outer, Loop::M), .k = part(7, Loop::K), .n = part(11, Loop::N)};
          const ChipGrid even{.tensor = degree, .splits_heads = true};
          CHECK(shard_of(heads(tiled), sharded, even, tiles) == expected);
          // Heads are dealt out as they are.
          if (sharded == Loop::Outer) {
            const bool tiles_rows = tiled == Loop::Outer || tiled == Loop::M;
            const std::int64_t rows = 5 * largest_part(3, degree);
            expected.m = tiles_rows ? largest_part(rows, tiles) : rows;
          }
          CHECK(shard_of(heads(tiled), sharded, degree, tiles) == expected);
        }
      }
    }
  }
}

TEST_CASE("the output is m times n elements") {
  CHECK(output_bytes({.m = 4, .k = 7, .n = 3}, Bytes(2.0)) == Bytes(24.0));
  // 2^40 x 2^40 elements of 2 bytes: 2^81, beyond any integer.
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK(output_bytes({.m = large, .k = 1, .n = large}, Bytes(2.0)) == Bytes(0x1p81));
}

TEST_CASE("a weight is m times k elements and is never tiled") {
  Kernel kernel = weight_gemm("w", 10, 6, 8);
  const Bytes word(2.0);
  CHECK(weight_bytes(kernel, Loop::None, 4, word) == Bytes(120.0));
  CHECK(weight_bytes(kernel, Loop::M, 4, word) == Bytes(36.0));   // 3 x 6
  CHECK(weight_bytes(kernel, Loop::K, 4, word) == Bytes(40.0));   // 10 x 2
  CHECK(weight_bytes(kernel, Loop::N, 4, word) == Bytes(120.0));  // N is no loop of it
  for (const Loop tiled : kLoops) {
    kernel.tiled = tiled;
    CHECK(weight_bytes(kernel, Loop::M, 4, word) == Bytes(36.0));
  }
  kernel.outer = 3;  // a whole one on a chip
  CHECK(weight_bytes(kernel, Loop::Outer, 4, word) == Bytes(120.0));
}

TEST_CASE("a weight that takes no SRAM is a weight still") {
  Kernel kernel = weight_gemm("w", 10, 6, 8);
  kernel.skip_weight = true;
  CHECK(weight_bytes(kernel, Loop::None, 1, Bytes(2.0)) == Bytes(120.0));
}

TEST_CASE("kernels of the other kinds have no weight") {
  CHECK(weight_bytes(gemm("g", 4, 4, 4), Loop::None, 1, Bytes(2.0)) == Bytes{});
  CHECK(weight_bytes(elementwise("e", 4, 4), Loop::None, 1, Bytes(2.0)) == Bytes{});
  Kernel two_inputs = elementwise("e2", 4, 4);
  two_inputs.kind = KernelKind::Elementwise2;
  CHECK(weight_bytes(two_inputs, Loop::None, 1, Bytes(2.0)) == Bytes{});
}

TEST_CASE("memory holds all matrices and what is beside them, but no weight of another kernel") {
  const ChipGrid four{.tensor = 4};
  const Bytes word(2.0);
  Kernel kernel = weight_gemm("w", 10, 6, 8);
  kernel.outer = 2;
  CHECK(stored_weight_bytes(kernel, Loop::Outer, four, word) == Bytes(120.0));  // 10 x 6
  kernel.matrices = 7;  // two of them on a chip
  CHECK(stored_weight_bytes(kernel, Loop::Outer, four, word) == Bytes(240.0));
  CHECK(weight_bytes(kernel, Loop::Outer, four, word) == Bytes(120.0));
  kernel.parameters = 5;
  CHECK(stored_weight_bytes(kernel, Loop::Outer, four, word) == Bytes(250.0));
  kernel.weight_of = KernelId(0);
  CHECK(stored_weight_bytes(kernel, Loop::Outer, four, word) == Bytes{});
  Kernel norm = elementwise("n", 10, 8);
  norm.parameters = 10;
  CHECK(stored_weight_bytes(norm, Loop::M, four, word) == Bytes(20.0));
}

TEST_CASE("a chip moves its share of the traffic of its group") {
  Kernel kernel = weight_gemm("w", 10, 6, 8);
  kernel.memory = Bytes(7.0);
  kernel.sharded_memory = Bytes(120.0);
  const ChipGrid four{.tensor = 4};
  CHECK(explicit_bytes(kernel, Loop::M, four) == Bytes(43.0));  // 3 of 10 rows
  CHECK(explicit_bytes(kernel, Loop::K, four) == Bytes(47.0));  // 2 of 6 columns
  // A chip that has some of the columns of the output has all of the weight.
  CHECK(explicit_bytes(kernel, Loop::N, four) == Bytes(127.0));
  CHECK(explicit_bytes(kernel, Loop::None, four) == Bytes(127.0));
  kernel.outer = 3;
  CHECK(explicit_bytes(kernel, Loop::Outer, four) == Bytes(47.0));  // one of three
  Kernel cache = elementwise("cache", 10, 8);
  cache.sharded_memory = Bytes(120.0);
  CHECK(explicit_bytes(cache, Loop::N, four) == Bytes(30.0));  // 2 of 8 tokens
  const ChipGrid even{.tensor = 4, .splits_heads = true};
  for (const Loop loop : kLoops) CHECK(explicit_bytes(kernel, loop, even) == Bytes(37.0));
}

TEST_CASE("a chip reads whole heads of keys and values") {
  const auto held = [](std::int64_t outer, std::int64_t shared, std::int64_t chips) {
    return heads_held(outer, shared, chips);
  };
  CHECK(held(16, 8, 4) == 2);
  CHECK(held(16, 16, 4) == 4);
  CHECK(held(16, 8, 16) == 1);
  CHECK(held(16, 1, 3) == 1);
  CHECK(held(12, 3, 4) == 2);  // heads 3, 4 and 5
  CHECK(held(6, 3, 2) == 2);
  CHECK(held(16, 8, 1) == 8);
  Kernel attention = gemm("attention", 5, 7, 12);
  attention.kind = KernelKind::Attention;
  attention.attention = Attention{.keys = 12};
  attention.outer = 12;
  attention.sharded_memory = Bytes(120.0);
  Kernel keys = weight_gemm("keys", 7, 9, 12);
  keys.outer = 3;
  const DataflowGraph graph({keys, attention}, {tensor(0, 1, 2)});
  const auto bytes = [&graph](const ChipGrid& grid) {
    return explicit_bytes(graph, KernelId(1), Loop::Outer, grid);
  };
  CHECK(bytes({.tensor = 4}) == Bytes(80.0));
  CHECK(bytes({.tensor = 12}) == Bytes(40.0));  // never less than one
  CHECK(bytes({.tensor = 12, .splits_heads = true}) == Bytes(10.0));
}

TEST_CASE("a tensor with rows of its own is a part of the output") {
  const DataflowGraph graph(
      {heads(), elementwise("a", 1, 1), elementwise("b", 1, 1)},
      {Tensor{.from = KernelId(0), .to = KernelId(1)},
       Tensor{.from = KernelId(0), .to = KernelId(2), .value = 1, .rows = 7}});
  const Bytes word(2.0);
  const auto bytes = [&](std::size_t t, Loop loop) {
    return tensor_bytes(graph, graph.tensors()[t], loop, {.tensor = 4}, 2, word);
  };
  CHECK(bytes(0, Loop::Outer) == Bytes(60.0));  // 5 rows of 11 / 2
  CHECK(bytes(1, Loop::Outer) == Bytes(36.0));  // 7 / 3 of a head
  CHECK(bytes(1, Loop::None) == Bytes(84.0));
  CHECK(graph.rows(TensorId(0)) == 15);
  CHECK(graph.rows(TensorId(1)) == 7);
}

TEST_CASE("work of elements lengthens a tile, and is none of the model") {
  Kernel norm = elementwise("n", 10, 8);
  norm.element_flops = 4;
  CHECK(tile_flops(norm, {.m = 10, .k = 1, .n = 8}) == Flops(320.0));
  CHECK(kernel_flops(norm) == Flops{});
}

TEST_CASE("the mode, not the kind, decides the work of a tile") {
  const Shard shard{.m = 4, .k = 7, .n = 3};
  CHECK(tile_flops(gemm("g", 1, 1, 1), shard) == Flops(168.0));  // 2 x 4 x 7 x 3
  CHECK(tile_flops(weight_gemm("w", 1, 1, 1), shard) == Flops(168.0));
  CHECK(tile_flops(elementwise("e", 1, 1), shard) == Flops(12.0));  // 4 x 3

  Kernel simd_gemm = gemm("g", 1, 1, 1);
  simd_gemm.mode = Mode::Simd;
  CHECK(tile_flops(simd_gemm, shard) == Flops(12.0));
  // A cache write, say: systolic with K = 1 counts two FLOP for each element.
  Kernel systolic = elementwise("e", 1, 1);
  systolic.mode = Mode::Systolic;
  CHECK(tile_flops(systolic, {.m = 4, .k = 1, .n = 3}) == Flops(24.0));
}

TEST_CASE("inputs that stream through several times are worked on as often") {
  Kernel kernel = gemm("g", 1, 1, 1);
  kernel.repeat = 5;
  CHECK(tile_flops(kernel, {.m = 4, .k = 7, .n = 3}) == Flops(840.0));
  kernel.mode = Mode::Simd;
  CHECK(tile_flops(kernel, {.m = 4, .k = 7, .n = 3}) == Flops(60.0));
}

TEST_CASE("tiles cover the sequence") {
  Workload workload;
  workload.sequence = 10;
  CHECK(tile_count(workload, 10) == 1);
  CHECK(tile_count(workload, 9) == 2);
  CHECK(tile_count(workload, 3) == 4);
  CHECK(tile_count(workload, 1) == 10);
}

}  // namespace
}  // namespace dfsearch
