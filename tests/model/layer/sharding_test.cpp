#include "model/layer/sharding.hpp"

#include <doctest/doctest.h>

#include <random>
#include <utility>
#include <vector>

#include "model/machine/network_choices.hpp"
#include "support/model_worlds.hpp"
#include "support/plain_model.hpp"
#include "support/random_problem.hpp"
#include "support/transformer_worlds.hpp"

namespace dfsearch {
namespace {

using test::dimension;
using test::elementwise;
using test::gemm;
using test::tensor;
using test::weight_gemm;
using Loops = std::vector<Loop>;

constexpr Layout kRR = Layout::Replicated;
constexpr Layout kRS = Layout::ColumnSplit;
constexpr Layout kSR = Layout::RowSplit;

Kernel tiled(Kernel kernel, Loop loop) {
  kernel.tiled = loop;
  return kernel;
}

Kernel with_heads(Kernel kernel, std::int64_t outer) {
  kernel.outer = outer;
  return kernel;
}

TEST_CASE("loops above 1 that are not tiled may be sharded, none first, unless there is a weight") {
  const Kernel g = gemm("g", 2, 2, 2), w = weight_gemm("w", 2, 2, 2);
  const std::vector<std::pair<Kernel, Loops>> rows{
      {g, {Loop::None, Loop::K, Loop::M}},
      {tiled(g, Loop::K), {Loop::None, Loop::M, Loop::N}},
      {tiled(g, Loop::M), {Loop::None, Loop::K, Loop::N}},
      {tiled(g, Loop::None), {Loop::None, Loop::K, Loop::M, Loop::N}},
      {elementwise("e", 2, 2), {Loop::None, Loop::M}},  // K = 1
      {gemm("g", 1, 2, 2), {Loop::None, Loop::K}},
      {tiled(gemm("g", 2, 2, 1), Loop::None), {Loop::None, Loop::K, Loop::M}},
      {gemm("g", 1, 1, 2), {Loop::None}},
      {w, {Loop::K, Loop::M}},
      {tiled(w, Loop::None), {Loop::K, Loop::M, Loop::N}},
      {weight_gemm("w", 2, 1, 2), {Loop::M}},
      {weight_gemm("w", 1, 1, 2), {Loop::None}},
      // Several heads are sharded by head, unless they are tiled.
      {with_heads(g, 2), {Loop::Outer}},
      {with_heads(weight_gemm("w", 1, 1, 1), 2), {Loop::Outer}},
      {tiled(with_heads(g, 2), Loop::Outer), {Loop::None, Loop::K, Loop::M, Loop::N}},
      {tiled(with_heads(weight_gemm("w", 2, 1, 1), 2), Loop::Outer), {Loop::M}}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(shardable_loops(rows[i].first) == rows[i].second);
  }
}

TEST_CASE("a kernel produces the layout of its sharding") {
  CHECK(produced_layout(Loop::None) == kRR);
  CHECK(produced_layout(Loop::Outer) == kSR);
  CHECK(produced_layout(Loop::K) == kRR);
  CHECK(produced_layout(Loop::M) == kSR);
  CHECK(produced_layout(Loop::N) == kRS);
}

struct Row {
  const char* name;
  Kernel kernel;
  int operand;
  Layout none, outer, k, m, n;
};

// The first rule that matches: tiled on K, SIMD, second operand of a GEMM, rest.
TEST_CASE("a kernel consumes the layout that its sharding asks for") {
  Kernel simd_gemm = gemm("g", 2, 2, 2);
  simd_gemm.mode = Mode::Simd;
  Kernel two_inputs = elementwise("e2", 2, 2);
  two_inputs.kind = KernelKind::Elementwise2;
  Kernel simd_update = tiled(simd_gemm, Loop::K);
  const std::vector<Row> rows{
      {"weight update, operand 1", tiled(gemm("g", 2, 2, 2), Loop::K), 1, kRR, kSR, kRS, kSR, kSR},
      {"weight update, operand 2", tiled(gemm("g", 2, 2, 2), Loop::K), 2, kRR, kSR, kRS, kSR, kSR},
      {"weight update in SIMD mode", simd_update, 1, kRR, kSR, kRS, kSR, kSR},
      {"elementwise", elementwise("e", 2, 2), 1, kRR, kSR, kRR, kSR, kRS},
      {"elementwise, operand 2", two_inputs, 2, kRR, kSR, kRR, kSR, kRS},
      {"GEMM in SIMD mode", simd_gemm, 2, kRR, kSR, kRR, kSR, kRS},
      {"weight GEMM", weight_gemm("w", 2, 2, 2), 1, kRR, kSR, kSR, kRR, kRS},
      {"GEMM, operand 1", gemm("g", 2, 2, 2), 1, kRR, kSR, kSR, kRR, kRS},
      {"GEMM, operand 2", gemm("g", 2, 2, 2), 2, kRR, kSR, kRS, kSR, kRR}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(consumed_layout(row.kernel, Loop::None, row.operand) == row.none);
    CHECK(consumed_layout(row.kernel, Loop::Outer, row.operand) == row.outer);
    CHECK(consumed_layout(row.kernel, Loop::K, row.operand) == row.k);
    CHECK(consumed_layout(row.kernel, Loop::M, row.operand) == row.m);
    CHECK(consumed_layout(row.kernel, Loop::N, row.operand) == row.n);
  }
}

TEST_CASE("what is replicated goes anywhere for free, what is split has to be moved") {
  for (const Layout to : {kRR, kRS, kSR}) CHECK(conversion(kRR, to) == Conversion::Free);
  CHECK(conversion(kRS, kRS) == Conversion::Free);
  CHECK(conversion(kSR, kSR) == Conversion::Free);
  CHECK(conversion(kRS, kRR) == Conversion::AllGather);
  CHECK(conversion(kSR, kRR) == Conversion::AllGather);
  CHECK(conversion(kRS, kSR) == Conversion::AllToAll);
  CHECK(conversion(kSR, kRS) == Conversion::AllToAll);
}

TEST_CASE("sharding K, and nothing else, makes a kernel all-reduce its output") {
  Kernel kernel = gemm("g", 2, 2, 2);
  for (const Loop loop : {Loop::None, Loop::Outer, Loop::M, Loop::N}) {
    CHECK_FALSE(reduces_output(kernel, loop));
  }
  CHECK(reduces_output(kernel, Loop::K));
  kernel.communication = Communication{};
  CHECK_FALSE(reduces_output(kernel, Loop::K));
}

TEST_CASE("bytes are counted on whole tensors") {
  // 3 heads of 4 x 6 elements of 2 bytes: 144 bytes.
  const Kernel kernel = with_heads(weight_gemm("w", 4, 5, 6), 3);
  const Kernel consumer = elementwise("e", 12, 6);
  const Bytes word(2.0);
  Problem problem;
  problem.workload.graph = DataflowGraph({kernel, consumer}, {tensor(0, 1)});
  CHECK(own_bytes(problem, kernel, Loop::K, word) == Bytes(144.0));
  CHECK(own_bytes(problem, kernel, Loop::M, word) == Bytes{});
  const auto converted = [&](Loop from, Loop to) {
    return conversion_bytes(problem, problem.workload.graph.tensors()[0], from, to, word);
  };
  CHECK(converted(Loop::Outer, Loop::None) == Bytes(144.0));
  CHECK(converted(Loop::Outer, Loop::N) == Bytes(144.0));
  CHECK(converted(Loop::Outer, Loop::M) == Bytes{});
  CHECK(converted(Loop::K, Loop::None) == Bytes{});
}

TEST_CASE("loops and bytes agree with the tables of the plain model") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const DataflowGraph& graph = problem.workload.graph;
    for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
      CHECK(shardable_loops(graph.kernels()[i]) == test::plain_loops(graph.kernels()[i]));
    }
    for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
      const Tensor& one = graph.tensors()[t];
      for (int pair = 0; pair < 25; ++pair) {
        const auto from = static_cast<Loop>(pair / 5);
        const auto to = static_cast<Loop>(pair % 5);
        CHECK(conversion_bytes(problem, one, from, to, problem.workload.word).in_base_units() ==
              test::plain_tensor_bytes(problem, t, from, to));
      }
    }
  }
}

/// Tensor ring of 4 at 10 B/s, data ring of 2 at 5 B/s, 2-byte elements.
class NetworkWorld {
 public:
  NetworkWorld(std::vector<Kernel> kernels, std::vector<Tensor> tensors,
               std::vector<Tensor> seams = {}) {
    problem_.workload.graph =
        DataflowGraph(std::move(kernels), std::move(tensors), std::move(seams));
    problem_.workload.word = Bytes(2.0);
    problem_.system.network = {dimension(Topology::Ring, 4, 10.0),
                               dimension(Topology::Ring, 2, 5.0, Strategy::Data)};
  }

  Equations& equations() { return problem_.equations; }

  [[nodiscard]] double time(std::size_t kernel, const Loops& sharding, std::int64_t tiles = 1,
                            std::int64_t micro_batches = 1) const {
    const auto network = test::network_of(problem_.system);
    return network_time({problem_, network, tiles, micro_batches}, KernelId(kernel),
                        LoopSets(sharding.begin(), sharding.end()))
        .in_base_units();
  }

 private:
  Problem problem_;
};

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-14); }

TEST_CASE("a kernel sharded on K all-reduces each tile of its output") {
  NetworkWorld world({weight_gemm("w", 8, 6, 10)}, {});
  // One tile: 8 x 10 x 2 = 160 B, 2 x 3/4 x 160 / 10.
  CHECK(world.time(0, {Loop::K}) == about(24.0));
  // Three tiles of ceil(10 / 3) = 4 columns: 64 B, 9.6 s, three times.
  CHECK(world.time(0, {Loop::K}, 3) == about(28.8));
  CHECK(world.time(0, {Loop::M}) == 0.0);
  world.equations().all_reduce_passes = 1;
  CHECK(world.time(0, {Loop::K}) == about(12.0));
}

// The producer has 9 rows, 3 on three chips and none on the fourth, which receives all of them, and
// 10 columns: 180 B, a shard of 60 B.
TEST_CASE("a split tensor is gathered for a consumer that needs all of it") {
  NetworkWorld world({weight_gemm("w", 9, 6, 10), elementwise("e", 9, 10)}, {tensor(0, 1)});
  CHECK(world.time(0, {Loop::M, Loop::None}) == about(18.0));  // 180 / 10
  CHECK(world.time(0, {Loop::M, Loop::M}) == 0.0);
  CHECK(world.time(1, {Loop::M, Loop::None}) == 0.0);  // the producer pays
  // Three tiles of 4 columns: 3 x 72 / 10.
  CHECK(world.time(0, {Loop::M, Loop::None}, 3) == about(21.6));

  world.equations().layout_conversion_bytes = ConversionBytes::Shard;
  CHECK(world.time(0, {Loop::M, Loop::None}) == about(4.5));     // 3/4 x 60 / 10
  CHECK(world.time(0, {Loop::M, Loop::None}, 3) == about(5.4));  // 3 x 3/4 x 24 / 10
}

TEST_CASE("a tensor split the other way is exchanged between all chips") {
  NetworkWorld world({weight_gemm("w", 9, 6, 10), tiled(elementwise("e", 9, 10), Loop::None)},
                     {tensor(0, 1)});
  CHECK(world.time(0, {Loop::M, Loop::N}) == about(3.0));     // 4/8 x 60 / 10
  CHECK(world.time(0, {Loop::M, Loop::N}, 3) == about(3.6));  // 3 x 4/8 x 24 / 10
  world.equations().layout_conversion_bytes = ConversionBytes::Shard;
  CHECK(world.time(0, {Loop::M, Loop::N}) == about(12.0));  // 4^2/8 x 60 / 10
}

TEST_CASE("chips that do not divide what is split exchange what the fullest needs") {
  const auto time = [](const Kernel& from, const Kernel& to, Loop a, Loop b) {
    return NetworkWorld({from, to}, {tensor(0, 1)}).time(0, {a, b});
  };
  // One row less than all chips have: 3/4 x 4 x 3 x 20 B / 10, not 3/4 x 11 x 20 B / 10.
  CHECK(time(elementwise("a", 11, 10), elementwise("b", 11, 10), Loop::M, Loop::None) ==
        about(18.0));
  // A chip has 2 of 8 rows of 5 columns before, 2 of 5 columns after: 8 x 2 x 2 B.
  const Kernel columns = tiled(elementwise("b", 8, 5), Loop::None);
  CHECK(time(elementwise("a", 8, 5), columns, Loop::M, Loop::N) == about(4.0 / 8 * 32 / 10));
  // Three heads of 4 rows want 4 where there are 3 of 12 rows; the other way round there is enough.
  const Kernel rows = elementwise("rows", 12, 10);
  const Kernel heads = with_heads(elementwise("heads", 4, 10), 3);
  CHECK(time(rows, heads, Loop::M, Loop::Outer) == about(4.0 / 8 * 80 / 10));
  CHECK(time(heads, rows, Loop::Outer, Loop::M) == 0.0);
  const Kernel others = with_heads(elementwise("others", 4, 10), 3);
  CHECK(time(heads, others, Loop::Outer, Loop::Outer) == 0.0);
}

TEST_CASE("heads of queries that share heads of keys with those of another chip receive these") {
  // Twelve heads for three of keys: the second of four chips has heads 3 to 5, which read two.
  const auto time = [](std::int64_t keys, std::int64_t outer) {
    Kernel attention = with_heads(gemm("attention", 5, 7, 12), outer);
    attention.kind = KernelKind::Attention;
    attention.attention = Attention{.keys = 12};
    return NetworkWorld({with_heads(weight_gemm("keys", 7, 9, 12), keys), attention},
                        {tensor(0, 1, 2)})
        .time(0, {Loop::Outer, Loop::Outer});
  };
  CHECK(time(3, 12) == about(4.0 / 8 * (2 * 7 * 12 * 2) / 10));
  // Two chips can make the same head.
  CHECK(time(2, 12) == 0.0);
  CHECK(time(4, 12) == 0.0);
}

/// The tensor as one of the output `value` of its producer.
Tensor of_value(Tensor one, std::int32_t value) {
  one.value = value;
  return one;
}

TEST_CASE("of a value each layout is paid once") {
  // 9 rows and 10 columns, 180 B: gathered 180 / 10, exchanged 4/8 x 60 / 10.
  const auto world_of = [](std::int32_t second) {
    return NetworkWorld(
        {weight_gemm("w", 9, 6, 10), elementwise("a", 9, 10), elementwise("b", 9, 10),
         tiled(elementwise("c", 9, 10), Loop::None), elementwise("d", 9, 10)},
        {of_value(tensor(0, 1), 0), of_value(tensor(0, 2), second), of_value(tensor(0, 3), second),
         of_value(tensor(0, 4), second)});
  };
  NetworkWorld one = world_of(0);
  CHECK(one.time(0, {Loop::M, Loop::None, Loop::None, Loop::N, Loop::M}) == about(21.0));
  CHECK(one.time(0, {Loop::M, Loop::None, Loop::None, Loop::None, Loop::None}) == about(18.0));
  // Two values, both gathered.
  CHECK(world_of(1).time(0, {Loop::M, Loop::None, Loop::None, Loop::N, Loop::M}) == about(39.0));
  // The published equations: tensor by tensor and on shards.
  one.equations().layout_conversion_bytes = ConversionBytes::Shard;
  CHECK(one.time(0, {Loop::M, Loop::None, Loop::None, Loop::N, Loop::M}) == about(21.0));
}

TEST_CASE("heads with a matrix each read all of the value that they share") {
  // 2 x 8 elements of each of 4 heads: rows of what they compute, times all rows of their input.
  Kernel gradient = tiled(with_heads(gemm("gradient", 2, 6, 8), 4), Loop::K);
  gradient.weight_of = KernelId(1);
  Problem problem;
  problem.workload.graph =
      DataflowGraph({elementwise("norm", 8, 6), with_heads(weight_gemm("heads", 2, 8, 6), 4),
                     with_heads(weight_gemm("next", 5, 2, 6), 4),
                     with_heads(weight_gemm("own", 2, 8, 6), 4), gradient},
                    {of_value(tensor(0, 1), 0), of_value(tensor(1, 2), 0), tensor(0, 3),
                     of_value(tensor(1, 4), 0), of_value(tensor(0, 4, 2), 0)});
  const std::vector<Tensor>& tensors = problem.workload.graph.tensors();
  CHECK(wanted_layout(problem, tensors[0], Loop::Outer) == Layout::Replicated);
  CHECK(wanted_layout(problem, tensors[1], Loop::Outer) == Layout::RowSplit);  // one head each
  CHECK(wanted_layout(problem, tensors[2], Loop::Outer) ==
        Layout::Replicated);  // no value, all the same
  CHECK(wanted_layout(problem, tensors[3], Loop::Outer) == Layout::RowSplit);
  CHECK(wanted_layout(problem, tensors[4], Loop::Outer) == Layout::Replicated);
  problem.equations = Equations::published();
  CHECK(wanted_layout(problem, tensors[0], Loop::Outer) == Layout::RowSplit);
}

TEST_CASE("rows of experts, of heads and of features are not each other's") {
  // 8 experts, or heads, of 6 rows each; 6 features, and a choice of one of 100 rows.
  Problem problem;
  problem.workload.graph = DataflowGraph(
      {with_heads(weight_gemm("experts", 6, 4, 3), 8), elementwise("combine", 6, 12),
       elementwise("features", 6, 12), with_heads(elementwise("dispatch", 6, 3), 8),
       elementwise("choice", 1, 12), elementwise("rows", 48, 3),
       with_heads(elementwise("of_heads", 6, 3), 8), elementwise("large", 100, 12)},
      {tensor(0, 1), tensor(2, 3), tensor(4, 7), tensor(0, 5), tensor(0, 6), tensor(2, 1)});
  const std::vector<Tensor>& tensors = problem.workload.graph.tensors();
  const auto wanted = [&](std::size_t t, Loop loop) {
    return wanted_layout(problem, tensors[t], loop);
  };
  // Each row of the sum is made of a row of every expert: every chip sends every other a part.
  CHECK(wanted(0, Loop::M) == Layout::SumSplit);
  CHECK(conversion(kSR, Layout::SumSplit) == Conversion::AllToAll);
  CHECK(conversion(kRR, Layout::SumSplit) == Conversion::Free);
  CHECK(wanted(0, Loop::N) == kRS);
  CHECK(wanted(0, Loop::None) == kRR);
  CHECK(wanted(1, Loop::Outer) == kRR);  // an expert reads all features of its tokens
  CHECK(wanted(2, Loop::M) == kRR);      // every row depends on the choice
  CHECK(wanted(3, Loop::M) == kSR);      // heads side by side
  CHECK(wanted(4, Loop::Outer) == kSR);  // head by head
  CHECK(wanted(5, Loop::M) == kSR);      // row by row
  problem.equations = Equations::published();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    CHECK(wanted(t, Loop::M) == kSR);
    CHECK(wanted(t, Loop::Outer) == kSR);
  }
}

TEST_CASE("one head of keys that all heads of queries read is wanted whole") {
  Kernel attention = with_heads(gemm("attention", 5, 7, 12), 8);
  attention.kind = KernelKind::Attention;
  attention.attention = Attention{.keys = 12};
  Problem problem;
  problem.workload.graph = DataflowGraph(
      {with_heads(weight_gemm("q", 7, 9, 12), 8), weight_gemm("key", 7, 9, 12),
       with_heads(weight_gemm("keys", 7, 9, 12), 2), weight_gemm("together", 56, 9, 12), attention,
       with_heads(gemm("scores", 12, 7, 12), 8)},
      {tensor(0, 4), tensor(1, 4, 2), tensor(2, 4, 2), tensor(3, 4), tensor(1, 5, 2),
       tensor(3, 5)});
  const std::vector<Tensor>& tensors = problem.workload.graph.tensors();
  const std::vector<Layout> expected{kSR, kRR, kSR, kSR, kRR, kSR};
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    CAPTURE(t);
    CHECK(wanted_layout(problem, tensors[t], Loop::Outer) == expected[t]);
  }
}

TEST_CASE("chips that split the rows of a norm tell each other their sums") {
  Kernel norm = elementwise("norm", 9, 10);
  norm.coupled = 2;
  NetworkWorld world({norm}, {});
  // All four chips send 2 sums of 10 columns: 40 B to all others, 3/4 x 160 / 10.
  CHECK(world.time(0, {Loop::M}) == about(12.0));
  CHECK(world.time(0, {Loop::M}, 3) == about(14.4));  // of ceil(10 / 3) columns, three times
  CHECK(world.time(0, {Loop::None}) == 0.0);
  world.equations() = Equations::published();
  CHECK(world.time(0, {Loop::M}) == 0.0);
}

TEST_CASE("what a layer hands the next one is converted as well") {
  // 9 rows of 10 columns, 180 B: gathered 180 / 10.
  NetworkWorld world({elementwise("first", 9, 10), elementwise("last", 9, 10)}, {tensor(0, 1)},
                     {tensor(1, 0)});
  CHECK(world.time(1, {Loop::None, Loop::M}) == about(18.0));
  CHECK(world.time(1, {Loop::M, Loop::M}) == 0.0);
  CHECK(world.time(0, {Loop::None, Loop::M}) == 0.0);
  world.equations() = Equations::published();
  CHECK(world.time(1, {Loop::None, Loop::M}) == 0.0);
}

/// Some of the loops, at least one.
LoopSet random_subset(std::mt19937_64& random, LoopSet set) {
  LoopSet some;
  for (const LoopPair loop : set) {
    if (random() % 2 == 0) some.insert(loop);
  }
  return some.size() > 0 ? some : set;
}

TEST_CASE("network times never fall when loops are taken out, and are those of the loops left") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_transformer_problem(seed, {.kernels = 7});
    std::mt19937_64 random(seed);
    const Mapping mapping = test::random_mapping(problem, seed);
    const NetworkContext context(problem, mapping.network, 2, 1);
    LoopSets all;
    for (const Kernel& kernel : problem.workload.graph.kernels()) {
      LoopSet set;
      for (const Loop loop : shardable_loops(kernel)) set.insert(loop);
      all.push_back(set);
    }
    LoopSets some, fewer, one;
    for (const LoopSet set : all) {
      some.push_back(random_subset(random, set));
      fewer.push_back(random_subset(random, some.back()));
      one.push_back(LoopSet(fewer.back().front()));
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      const KernelId id(k);
      CHECK(network_time(context, id, all) <= network_time(context, id, some));
      CHECK(network_time(context, id, some) <= network_time(context, id, fewer));
      CHECK(network_time(context, id, fewer) <= network_time(context, id, one));
    }
  }
}

TEST_CASE("every consumer's conversion is paid, after the all-reduce") {
  // A column-split tensor to a GEMM's first operand sharded on K (rows) is exchanged, one to an
  // unsharded kernel gathered.
  NetworkWorld world({tiled(gemm("g", 8, 6, 12), Loop::None), gemm("first", 8, 8, 12),
                      elementwise("e", 8, 12), elementwise("f", 8, 12)},
                     {tensor(0, 1), tensor(0, 2), tensor(0, 2, 2), tensor(0, 3)});
  // N: shard 8 x 3 x 2 = 48 B, whole 192 B: 4/8 x 4.8 + 2 x 3/4 x 19.2; M of
  // `f` asks for rows: another 4/8 x 4.8.
  CHECK(world.time(0, {Loop::N, Loop::K, Loop::None, Loop::M}) == about(2.4 + 28.8 + 2.4));
  // K: 2 x 3/4 x 192 / 10, and what is replicated then is free for all.
  CHECK(world.time(0, {Loop::K, Loop::K, Loop::None, Loop::M}) == about(28.8));
}

TEST_CASE("a kernel's own collective is paid once, not for each tile, in place of the all-reduce") {
  const auto time = [](CommunicationType type, Loop loop, std::int64_t tiles) {
    Kernel kernel = gemm("g", 8, 6, 10);
    kernel.communication = Communication{.type = type, .bytes = Bytes(100.0)};
    return NetworkWorld({kernel}, {}).time(0, {loop}, tiles);
  };
  for (const Loop loop : {Loop::None, Loop::K, Loop::M}) {
    for (const std::int64_t tiles : {1, 3, 10}) {
      CHECK(time(CommunicationType::AllReduce, loop, tiles) == about(15.0));  // 2 x 3/4 x 10
      CHECK(time(CommunicationType::AllGather, loop, tiles) == about(7.5));
      CHECK(time(CommunicationType::PointToPoint, loop, tiles) == about(10.0));
    }
  }
}

TEST_CASE("a kernel's own collective does not spare it the conversions") {
  Kernel kernel = gemm("g", 9, 6, 10);
  kernel.communication = Communication{.type = CommunicationType::AllReduce, .bytes = Bytes(100.0)};
  const NetworkWorld world({kernel, elementwise("e", 9, 10)}, {tensor(0, 1)});
  CHECK(world.time(0, {Loop::M, Loop::None}) == about(15.0 + 18.0));
}

// The gradient is 8 x 6 elements, 2 x 6 of them on a chip: 24 B.
TEST_CASE("a gradient is all-reduced over the data dimensions once a step") {
  Kernel update = tiled(gemm("update", 8, 10, 6), Loop::K);
  update.communication = Communication{.type = CommunicationType::GradientAllReduce, .bytes = {}};
  NetworkWorld world({update}, {});
  CHECK(world.time(0, {Loop::M}) == about(4.8));           // 2 x 1/2 x 24 / 5
  CHECK(world.time(0, {Loop::M}, 5) == about(4.8));        // not for each tile
  CHECK(world.time(0, {Loop::M}, 5, 6) == about(0.8));     // each micro-batch's part of it
  CHECK(world.time(0, {Loop::None}, 5, 6) == about(3.2));  // 96 B
  CHECK(world.time(0, {Loop::N}, 1, 1) == about(6.4));     // 8 x ceil(6/4) x 2 = 32 B
  world.equations().all_reduce_passes = 1;
  CHECK(world.time(0, {Loop::M}) == about(2.4));
}

TEST_CASE("conversions that a cache knows are those that are computed") {
  std::size_t known_ones = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Problem problem = test::random_problem(seed, {.two_axes = true});
    const DataflowGraph& graph = problem.workload.graph;
    ConversionCache cache;
    for (const NetworkChoice& network : network_choices(problem)) {
      for (const std::int64_t tiles : {1, 3}) {
        const NetworkContext cached(problem, network, tiles, 2, &cache);
        const NetworkContext computed(problem, network, tiles, 1);
        if (!cached.conversions) continue;  // the group has one axis
        for (const Tensor& tensor : graph.tensors()) {
          for (const LoopPair from : shardable_pairs(problem, graph.kernel(tensor.from))) {
            for (const LoopPair to : shardable_pairs(problem, graph.kernel(tensor.to))) {
              const Seconds expected = conversion_time(computed, tensor, from, to);
              const bool same = conversion_time(cached, tensor, from, to) == expected &&
                                conversion_time(cached, tensor, from, to) == expected;
              REQUIRE(same);
              const Tensor elsewhere = tensor;  // none of the graph
              REQUIRE(conversion_time(cached, elsewhere, from, to) == expected);
              ++known_ones;
            }
          }
        }
      }
    }
  }
  CHECK(known_ones > 1000);
}

}  // namespace
}  // namespace dfsearch
