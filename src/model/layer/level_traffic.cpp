// The least traffic of a GEMM through a level, over all tiles of whole numbers.
//
// One of the three operands stays in the memory further in, which has M words, as a tile of a x b
// words.  Of the other two operands this memory holds a row and a column of the tile, so
// a + b + a b <= M.  If the operand that stays has K x N words, the traffic is a constant plus
//
//     alpha ceil(N / b) + beta ceil(K / a),
//
// where alpha and beta are the words that move for each piece of N and of K.
//
// The least b with a value of ceil(N / b) leaves the most room for a, and the cost never grows with
// a.  So a walk over the values of one ceil, which takes the least b of each value and the greatest
// a that fits with it, meets a best tile.  There are at most 2 sqrt(N) values, and the walk takes
// the shorter of the two sides.  It skips each b whose own term exceeds the cost of some tile near
// the best, and ends if the term of a alone exceeds the best cost so far.  A larger M excludes no
// tile, so the result never grows with M.  tests/model/layer/level_traffic_test.cpp compares the
// result with all tiles.

#include "model/layer/level_traffic.hpp"

#include "base/counts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dfsearch {
namespace {

/// A side of a tile, which cuts `extent` into pieces that cost `weight` each.
struct Side {
  std::int64_t extent;
  double weight;
};

double cost(const Side& side, std::int64_t tile) {
  return side.weight * number(ceil_div(side.extent, tile));
}

/// The least of alpha ceil(N / b) + beta ceil(K / a) over a, b >= 1 with a + b + a b <= inner.
double least_sides(Side walked, Side other, std::int64_t inner) {
  if (walked.extent > other.extent) std::swap(walked, other);
  const auto beside = [&](std::int64_t b) { return std::min(other.extent, (inner - b) / (1 + b)); };
  const std::int64_t most = std::min(walked.extent, (inner - 1) / 2);
  // The real b at which both terms are equal.
  const double even = std::sqrt(number(inner) * walked.weight * number(walked.extent) /
                                (other.weight * number(other.extent)));
  const auto near =
      even < number(most) ? std::max<std::int64_t>(1, static_cast<std::int64_t>(even)) : most;
  double least = cost(walked, near) + cost(other, beside(near));
  const double pieces_within = least / walked.weight;  // more pieces alone cost more than `least`
  std::int64_t first = 1;
  if (pieces_within < number(walked.extent)) {
    first = ceil_div(walked.extent, static_cast<std::int64_t>(pieces_within) + 1);
  }
  for (std::int64_t b = first; b <= most;) {
    const double of_other = cost(other, beside(b));
    if (of_other > least) break;
    least = std::min(least, cost(walked, b) + of_other);
    const std::int64_t pieces = ceil_div(walked.extent, b);
    if (pieces == 1) break;
    b = ceil_div(walked.extent, pieces - 1);  // the least with fewer pieces
  }
  return least;
}

}  // namespace

// docs/technology.md (17)
double array_words(const Shard& gemm, std::int64_t lanes, std::int64_t stages) {
  const double m = number(gemm.m);
  const double k = number(gemm.k);
  const double n = number(gemm.n);
  return m * k * number(ceil_div(gemm.n, stages)) + k * n * number(ceil_div(gemm.m, lanes)) + m * n;
}

// docs/technology.md (17)
double array_words(const Shard& gemm, const Accelerator& accelerator) {
  return accelerator.dataflow == Dataflow::Output
             ? array_words(gemm, accelerator.lanes, accelerator.stages)
             : register_words(gemm, accelerator, accelerator.dataflow);
}

// docs/technology.md (18)
double tiled_words(const Shard& gemm, std::int64_t inner) {
  if (inner < 3) return std::numeric_limits<double>::infinity();
  const double mk = number(gemm.m) * number(gemm.k);
  const double kn = number(gemm.k) * number(gemm.n);
  const double mn = number(gemm.m) * number(gemm.n);
  // Each piece of K but the first reads and writes the output again.
  const double output = mn + least_sides({gemm.n, mk}, {gemm.m, kn}, inner);
  const double weight = kn - mn + least_sides({gemm.n, mk}, {gemm.k, 2.0 * mn}, inner);
  const double input = mk - mn + least_sides({gemm.k, 2.0 * mn}, {gemm.m, kn}, inner);
  return std::min({output, weight, input});
}

std::int64_t words_of(Bytes share, Bytes word) {
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  return static_cast<std::int64_t>(std::floor(std::min(share / word, kMost)));
}

// docs/technology.md (19)
std::vector<Bytes> level_bytes(const Kernel& kernel, const Shard& whole,
                               const Accelerator& accelerator,
                               const std::vector<OnChipLevel>& levels, Bytes word) {
  const double repeat = number(kernel.repeat) * number(whole.steps);
  const Shard step = whole.of_step();
  std::vector<Bytes> bytes;
  if (kernel.mode == Mode::Simd || whole.k == 1) {
    const bool two = kernel.kind == KernelKind::Gemm || kernel.kind == KernelKind::Elementwise2;
    const double inputs = two ? 2.0 : 1.0;
    bytes.assign(levels.size(), word * ((inputs + 1.0) * number(step.m) * number(step.n)) * repeat);
    return bytes;
  }
  for (std::size_t x = 0; x < levels.size(); ++x) {
    const double words = x == 0 ? array_words(step, accelerator)
                                : tiled_words(step, words_of(levels[x - 1].share, word));
    bytes.push_back(word * words * repeat);
  }
  return bytes;
}

std::vector<Bytes> LevelTrafficCache::level_bytes(const Kernel& kernel, const Shard& whole,
                                                  const Accelerator& accelerator,
                                                  const std::vector<OnChipLevel>& levels,
                                                  Bytes word) {
  const Key key(kernel.kind, kernel.mode, kernel.repeat, whole);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  std::vector<Bytes> bytes = dfsearch::level_bytes(kernel, whole, accelerator, levels, word);
  const std::lock_guard lock(mutex_);
  if (known_.size() < kMostShapes) known_.emplace(key, bytes);
  return bytes;
}

bool holds_tiles(const std::vector<OnChipLevel>& levels, Bytes word) {
  for (std::size_t x = 0; x + 1 < levels.size(); ++x) {
    if (words_of(levels[x].share, word) < 3) return false;
  }
  return true;
}

}  // namespace dfsearch
