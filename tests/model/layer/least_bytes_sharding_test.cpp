// Against brute force on random graphs, and on shapes that a careless
// elimination would never finish.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "graph/workloads/generators.hpp"
#include "model/layer/sharding.hpp"
#include "support/model_worlds.hpp"
#include "support/plain_kernel.hpp"
#include "support/plain_model.hpp"
#include "support/random_problem.hpp"
#include "support/transformer_worlds.hpp"

namespace dfsearch {
namespace {

using test::chance;
using test::elementwise;
using test::pick;
using test::tensor;
using test::weight_gemm;
using Sharding = std::vector<LoopPair>;
using Random = std::mt19937_64;

std::vector<Sharding> choices_of(const Problem& problem) {
  std::vector<Sharding> choices;
  const DataflowGraph& graph = problem.workload.graph;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    const std::vector<Loop> loops = test::plain_loops(graph.kernels()[i]);
    choices.push_back(pinned ? Sharding{*problem.sharding_pins[i]}
                             : Sharding(loops.begin(), loops.end()));
  }
  return choices;
}

/// The tensors of the layer and between layers.
std::vector<Tensor> tensors_of(const Problem& problem) {
  std::vector<Tensor> all = problem.workload.graph.tensors();
  const std::vector<Tensor> seams = test::plain::seams(problem);
  all.insert(all.end(), seams.begin(), seams.end());
  return all;
}

double total_bytes(const Problem& problem, const Sharding& sharding) {
  const DataflowGraph& graph = problem.workload.graph;
  double total = 0.0;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    total += test::plain_kernel_bytes(problem, i, sharding[i]);
  }
  for (const Tensor& one : tensors_of(problem)) {
    total += test::plain_tensor_bytes(problem, one, sharding[one.from.index()],
                                      sharding[one.to.index()]);
  }
  return total;
}

/// The first of all shardings with the least bytes, in the order of ties, and these bytes.
/// `more` returns what kernel i adds where those before it are decided; what is no better already
/// needs no completion.
class BruteForce {
 public:
  using More = std::function<double(std::size_t, const Sharding&)>;

  BruteForce(std::vector<Sharding> choices, More more)
      : choices_(std::move(choices)), more_(std::move(more)), sharding_(choices_.size()) {
    extend(0, 0.0);
  }

  Sharding best;
  double least = std::numeric_limits<double>::infinity();

 private:
  void extend(std::size_t i, double bytes) {
    if (bytes >= least) return;
    if (i == choices_.size()) {
      least = bytes;
      best = sharding_;
      return;
    }
    for (const LoopPair loop : choices_[i]) {
      sharding_[i] = loop;
      extend(i + 1, bytes + more_(i, sharding_));
    }
  }

  std::vector<Sharding> choices_;
  More more_;
  Sharding sharding_;
};

/// The least over kernels and tensors, each by itself.
BruteForce by_tensors(const Problem& problem) {
  std::vector<std::vector<Tensor>> closing(problem.workload.graph.kernel_count());
  for (const Tensor& one : tensors_of(problem)) {
    closing[std::max(one.from.index(), one.to.index())].push_back(one);
  }
  return {choices_of(problem), [&](std::size_t i, const Sharding& sharding) {
            double more = test::plain_kernel_bytes(problem, i, sharding[i]);
            for (const Tensor& one : closing[i]) {
              more += test::plain_tensor_bytes(problem, one, sharding[one.from.index()],
                                               sharding[one.to.index()]);
            }
            return more;
          }};
}

/// The least over whole shardings, whose values are made once in each layout.
BruteForce by_values(const Problem& problem) {
  const std::size_t last = problem.workload.graph.kernel_count() - 1;
  return {choices_of(problem), [&](std::size_t i, const Sharding& sharding) {
            return i == last ? test::plain_bytes(problem, sharding) : 0.0;
          }};
}

Kernel random_kernel(Random& random, std::size_t index) {
  Kernel kernel;
  kernel.name = std::string(1, static_cast<char>('a' + index));
  kernel.kind = static_cast<KernelKind>(pick(random, 0, 3));
  const bool product = kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm;
  kernel.mode = product ? Mode::Systolic : Mode::Simd;
  kernel.tiled = chance(random, 60) ? Loop::N : static_cast<Loop>(pick(random, 0, 4));
  // Few different sizes: many ties.
  if (chance(random, 10)) kernel.outer = 2;
  kernel.m = pick(random, 1, 3);
  kernel.k = product ? pick(random, 1, 3) : 1;
  kernel.n = pick(random, 1, 3);
  if (chance(random, 10)) {
    kernel.communication = Communication{.type = CommunicationType::AllReduce, .bytes = Bytes(1e6)};
  }
  return kernel;
}

/// Up to `most` kernels listed in any order, with tensors that stand twice and
/// pins.
Problem random_world(std::uint64_t seed, std::size_t most) {
  Random random(seed);
  Problem problem;
  const auto count = static_cast<std::size_t>(pick(random, 1, static_cast<std::int64_t>(most)));
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) kernels.push_back(random_kernel(random, i));
  std::vector<std::size_t> place(count);
  for (std::size_t i = 0; i < count; ++i) place[i] = i;
  if (chance(random, 40)) {
    for (std::size_t i = count; i > 1; --i) {
      const std::int64_t other = pick(random, 0, static_cast<std::int64_t>(i) - 1);
      std::swap(place[i - 1], place[static_cast<std::size_t>(other)]);
    }
  }
  const int density = static_cast<int>(pick(random, 5, 80));
  std::vector<Tensor> tensors;
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = from + 1; to < count; ++to) {
      while (chance(random, tensors.empty() ? density : density / 2)) {
        tensors.push_back(tensor(place[from], place[to], static_cast<int>(pick(random, 1, 2))));
      }
    }
  }
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  if (chance(random, 30)) {
    problem.sharding_pins.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<Loop> loops = test::plain_loops(problem.workload.graph.kernels()[i]);
      const auto last = static_cast<std::int64_t>(loops.size()) - 1;
      if (chance(random, 30)) {
        problem.sharding_pins[i] = loops[static_cast<std::size_t>(pick(random, 0, last))];
      }
    }
  }
  return problem;
}

TEST_CASE("the sharding is the first of the least ones on thousands of random graphs") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_world(seed, 8);
    const Sharding found = least_bytes_sharding(problem);
    const BruteForce brute = by_tensors(problem);
    CHECK(total_bytes(problem, found) == brute.least);
    CHECK(found == brute.best);
  }
}

// Sums of 0.3 and 0.7 round differently in different orders.
TEST_CASE("the size of an element has no part in the choice") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Problem problem = random_world(seed, 8);
    const Sharding expected = least_bytes_sharding(problem);
    for (const double word : {0.3, 0.7, 1.1, 4.0}) {
      CAPTURE(word);
      problem.workload.word = Bytes(word);
      CHECK(least_bytes_sharding(problem) == expected);
    }
  }
}

TEST_CASE("among equals the first kernel chooses first") {
  // An unsharded consumer would gather the 4 x 4 x 2 bytes; so would columns.
  Kernel source = test::gemm("source", 4, 4, 4);
  Problem problem;
  problem.workload.graph = DataflowGraph({elementwise("sink", 4, 4), source}, {tensor(1, 0)});
  CHECK(least_bytes_sharding(problem) == Sharding{Loop::None, Loop::None});
  problem.sharding_pins = {std::nullopt, Loop::M};
  CHECK(least_bytes_sharding(problem) == Sharding{Loop::M, Loop::M});
  problem.sharding_pins = {Loop::None, Loop::M};
  CHECK(least_bytes_sharding(problem) == Sharding{Loop::None, Loop::M});
}

// Kernel by kernel the reason for the forward half: the heads (3-9) hand PROJ_GEMM
// rows, which sharding K takes as they are; M would gather as much as the
// all-reduce of K moves, and K comes first.  What follows is replicated up
// to FFN0: its K would all-reduce 4h, so M, and GeLU with it; FFN1 takes the rows
// with K.  Backward the same from the other end.
TEST_CASE("a transformer layer is sharded like Megatron") {
  constexpr LoopPair kNone = Loop::None;
  constexpr LoopPair kHeads = Loop::Outer;
  const LlmShape shape{.hidden = 48, .heads = 6, .head_dim = 8, .sequence = 20};
  const Sharding forward{kNone,   kNone, kHeads, kHeads, kHeads,  kHeads,  kHeads,  kHeads, kHeads,
                         Loop::K, kNone, kNone,  kNone,  Loop::M, Loop::M, Loop::K, kNone,  kNone};
  Problem problem;
  problem.equations.layer_seams = LayerSeams::Free;  // the list hands back three gradients apart
  problem.workload.word = Bytes(2.0);
  problem.workload.graph = llm_forward_graph(shape);
  CHECK(least_bytes_sharding(problem) == forward);
  // Two all-reduces of hidden x sequence.
  CHECK(total_bytes(problem, forward) == 2.0 * 48 * 20 * 2);

  Sharding training = forward;
  const Sharding backward{kNone,  kNone,   Loop::M, Loop::M, Loop::K, kNone,   kNone,  Loop::M,
                          kHeads, kHeads,  Loop::K, kHeads,  kHeads,  kHeads,  kHeads, kHeads,
                          kHeads, Loop::M, Loop::M, Loop::M, Loop::M, Loop::M, Loop::M};
  training.insert(training.end(), backward.begin(), backward.end());
  problem.workload.graph = llm_training_graph(shape);
  CHECK(least_bytes_sharding(problem) == training);
  // Two more, and what the heads of Q_bwd and K_bwd gather of what those before them made.
  CHECK(total_bytes(problem, training) == (4.0 + 2.0) * 48 * 20 * 2);
  problem.equations.layout_conversion_bytes = ConversionBytes::Shard;
  CHECK(least_bytes_sharding(problem) == training);
  CHECK(total_bytes(problem, training) == 4.0 * 48 * 20 * 2);
}

TEST_CASE("the all-reduces of large transformers are PROJ_GEMM, FFN1, FFN0_bwd and V_bwd") {
  for (const LlmShape& shape :
       {LlmShape{.hidden = 12288, .heads = 96, .head_dim = 128, .sequence = 2048},
        LlmShape{.hidden = 25600, .heads = 160, .head_dim = 160, .sequence = 2048}}) {
    Problem problem;
    problem.equations.layer_seams = LayerSeams::Free;
    problem.workload.word = Bytes(2.0);
    problem.workload.graph = llm_training_graph(shape);
    const Sharding sharding = least_bytes_sharding(problem);
    std::vector<std::string> reduced;
    for (std::size_t i = 0; i < sharding.size(); ++i) {
      const Kernel& kernel = problem.workload.graph.kernels()[i];
      if (reduces_output(kernel, sharding[i])) reduced.push_back(kernel.name);
    }
    CHECK(reduced == std::vector<std::string>{"PROJ_GEMM", "FFN1", "FFN0_bwd", "V_bwd"});
    CHECK(total_bytes(problem, sharding) == (4.0 + 2.0) * static_cast<double>(shape.hidden) *
                                                static_cast<double>(shape.sequence) * 2.0);
  }
}

/// Kernels of three choices (none, M, N), each joined to all others.
Problem dense_problem(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    Kernel kernel = elementwise(std::string(1, static_cast<char>('a' + i)), pick(random, 2, 9),
                                pick(random, 2, 9));
    kernel.tiled = Loop::None;
    kernels.push_back(kernel);
    for (std::size_t from = 0; from < i; ++from) tensors.push_back(tensor(from, i));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  // Without pins everything would be replicated, for nothing.
  problem.sharding_pins.resize(count);
  problem.sharding_pins[0] = Loop::M;
  problem.sharding_pins[1] = Loop::N;
  // On one chip it would not be worth the effort.
  problem.system.chips = 8;
  problem.system.network.resize(1);
  return problem;
}

// 12 open kernels: eliminating one needs 3^11 = 177147 entries, beyond the 2^16
// that a table may have.
TEST_CASE("a graph too dense for tables is tried value by value") {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    CAPTURE(seed);
    const Problem problem = dense_problem(14, seed);
    CHECK(least_bytes_sharding(problem) == by_tensors(problem).best);
  }
}

// One source of rows, one of columns: all kernels on M or all on N are equally
// good.  The kernel tried value by value would take M.  But the first kernel of the
// list, which takes what the last one makes as its second operand, reads
// columns with K and rows with M, and K comes first.
TEST_CASE("a tie between the values of a kernel is decided by the kernels before it") {
  Problem problem = dense_problem(14, 0);
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors{tensor(14, 0, 2)};
  kernels.push_back(test::gemm("first", 4, 4, 4));
  kernels.back().tiled = Loop::None;
  kernels.back().communication = Communication{};
  for (Kernel kernel : problem.workload.graph.kernels()) {
    kernel.m = kernel.n = 4;
    kernels.push_back(kernel);
  }
  for (const Tensor& t : problem.workload.graph.tensors()) {
    tensors.push_back(tensor(t.from.index() + 1, t.to.index() + 1));
  }
  std::erase(tensors, tensor(1, 2));
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  problem.sharding_pins.insert(problem.sharding_pins.begin(), std::nullopt);
  Sharding expected(15, Loop::N);
  expected[0] = Loop::K;
  expected[1] = Loop::M;
  CHECK(least_bytes_sharding(problem) == expected);
  CHECK(by_tensors(problem).best == expected);
}

TEST_CASE("pieces of layers by rule have the first of the least shardings of their values") {
  int converted = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_transformer_problem(seed, {.kernels = 7});
    const BruteForce brute = by_values(problem);
    CHECK(least_bytes_sharding(problem) == brute.best);
    converted += brute.least > 0.0;
  }
  CHECK(converted > 100);
}

/// A router, `experts` chains of up, act and down, and a kernel that combines
/// them, which is last in the list.  Expert e is 2 + e % 3 rows high.
Problem experts_problem(std::size_t experts) {
  std::vector<Kernel> kernels{elementwise("router", 8, 6)};
  std::vector<Tensor> tensors;
  const std::size_t last = 1 + 3 * experts;
  for (std::size_t e = 0; e < experts; ++e) {
    const std::string name = std::to_string(e);
    const auto rows = static_cast<std::int64_t>(2 + e % 3);
    kernels.push_back(weight_gemm("up" + name, rows, 8, 6));
    kernels.push_back(elementwise("act" + name, rows, 6));
    kernels.push_back(weight_gemm("down" + name, 8, rows, 6));
    tensors.push_back(tensor(0, 3 * e + 1));
    tensors.push_back(tensor(3 * e + 1, 3 * e + 2));
    tensors.push_back(tensor(3 * e + 2, 3 * e + 3));
    tensors.push_back(tensor(3 * e + 3, last));
  }
  kernels.push_back(elementwise("combine", 8, 6));
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  return problem;
}

/// Bytes of expert e's three kernels and four tensors.
double expert_bytes(const Problem& problem, std::size_t e, LoopPair router,
                    const std::array<LoopPair, 3>& chain, LoopPair combine) {
  double bytes = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    bytes += test::plain_kernel_bytes(problem, 3 * e + 1 + i, chain[i]);
  }
  const std::array<LoopPair, 5> path{router, chain[0], chain[1], chain[2], combine};
  for (std::size_t t = 0; t < 4; ++t) {
    bytes += test::plain_tensor_bytes(problem, 4 * e + t, path[t], path[t + 1]);
  }
  return bytes;
}

/// For given loops of the router and the kernel that combines, the experts have
/// nothing to do with each other: brute force on each of them.
std::pair<double, Sharding> best_experts(const Problem& problem, std::size_t experts,
                                         LoopPair router, LoopPair combine) {
  std::pair<double, Sharding> result{0.0, {router}};
  for (std::size_t e = 0; e < experts; ++e) {
    double least = std::numeric_limits<double>::infinity();
    std::array<LoopPair, 3> best{};
    for (const LoopPair up : {Loop::K, Loop::M}) {
      for (const LoopPair act : {Loop::None, Loop::M}) {
        for (const LoopPair down : {Loop::K, Loop::M}) {
          const double bytes = expert_bytes(problem, e, router, {up, act, down}, combine);
          if (bytes >= least) continue;
          least = bytes;
          best = {up, act, down};
        }
      }
    }
    result.first += least;
    result.second.insert(result.second.end(), best.begin(), best.end());
  }
  result.second.push_back(combine);
  return result;
}

TEST_CASE("hundreds of parallel experts are sharded exactly and at once") {
  constexpr std::size_t kExperts = 200;
  const Problem problem = experts_problem(kExperts);
  std::pair<double, Sharding> best{std::numeric_limits<double>::infinity(), {}};
  for (const LoopPair router : {Loop::None, Loop::M}) {
    for (const LoopPair combine : {Loop::None, Loop::M}) {
      best = std::min(best, best_experts(problem, kExperts, router, combine));
    }
  }
  CHECK(least_bytes_sharding(problem) == best.second);
}

/// A kernel whose value many others read, each with a weight of its own.
Problem shared_value(std::size_t consumers, std::uint64_t seed) {
  Random random(seed);
  std::vector<Kernel> kernels{weight_gemm("source", 4, 3, 2)};
  std::vector<Tensor> tensors;
  for (std::size_t c = 1; c <= consumers; ++c) {
    kernels.push_back(pick(random, 0, 1) == 0
                          ? weight_gemm("w" + std::to_string(c), pick(random, 1, 6), 4, 2)
                          : elementwise("e" + std::to_string(c), 4, 2));
    kernels.back().tiled = pick(random, 0, 2) == 0 ? Loop::None : Loop::N;
    tensors.push_back(tensor(0, c));
    tensors.back().value = 0;
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  return problem;
}

TEST_CASE("a value with many consumers is made once in each layout, and ties are as ever") {
  int made = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    Problem problem = shared_value(8, seed);
    // Where the source may not be whole, some layouts cost.
    if (seed % 2 == 0) {
      problem.sharding_pins.resize(9);
      problem.sharding_pins[0] = Loop::M;
    }
    const BruteForce brute = by_values(problem);
    CHECK(least_bytes_sharding(problem) == brute.best);
    made += brute.least > 0.0;
  }
  CHECK(made > 10);
  // 2^60 combinations of its consumers' loops.
  CHECK(least_bytes_sharding(shared_value(60, 0)).size() == 61);
}

// All 60 kernels feed all later ones.
TEST_CASE("a graph too entangled to be sharded is refused at once, unless nothing is split") {
  Problem problem = dense_problem(60, 0);
  Sharding first;
  for (const Sharding& loops : choices_of(problem)) first.push_back(loops.front());
  CHECK_THROWS_AS(least_bytes_sharding(problem), InputError);
  problem.system.chips = 1;
  CHECK(least_bytes_sharding(problem) == first);
  problem.system.chips = 8;
  problem.system.network[0].strategy = Strategy::Data;
  CHECK(least_bytes_sharding(problem) == first);
  problem.system.network[0] = {};
  problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)].most = 1;
  CHECK(least_bytes_sharding(problem) == first);
}

TEST_CASE("a thousand kernels in a row are sharded exactly and at once") {
  std::vector<Kernel> kernels;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < 1000; ++i) {
    kernels.push_back(weight_gemm("w" + std::to_string(i), 4, 4, 4));
    if (i > 0) tensors.push_back(tensor(i - 1, i));
  }
  Problem problem;
  problem.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
  const Sharding sharding = least_bytes_sharding(problem);
  // K all-reduces 32 B, after which K and M are free; M costs nothing, then K is
  // free and M gathers 32 B.  So kernels 1 and 2 cost at least 32 B, as do 3 and 4
  // and so on, and K M K M ... costs no more.  Nothing that begins K K does, so
  // it is the first in the order of ties.
  Sharding expected;
  for (std::size_t i = 0; i < 1000; ++i) expected.push_back(i % 2 == 0 ? Loop::K : Loop::M);
  CHECK(total_bytes(problem, sharding) == 500.0 * 32.0);
  CHECK(sharding == expected);
}

}  // namespace
}  // namespace dfsearch
