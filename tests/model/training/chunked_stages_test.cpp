// Against all ways to divide layers among stages, tried one by one.

#include "model/training/stages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "model/training/schedule.hpp"

namespace dfsearch::training {
namespace {

using Layers = std::vector<std::int64_t>;

/// The layers of each rank with the arguments of Megatron-LM, as its core computes them for every
/// rank and virtual stage; empty where it refuses them.
Layers megatron(std::int64_t layers, std::int64_t stages, std::int64_t chunks, bool embedding,
                bool loss, std::int64_t first, std::int64_t last) {
  Layers of_ranks;
  for (std::int64_t rank = 0; rank < stages; ++rank) {
    std::int64_t sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      std::int64_t of_rank = 0;
      if (first > 0 || last > 0) {
        if (embedding || loss) return {};
        const std::int64_t left = layers - first - last;
        const std::int64_t ranks_left = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
        if (left < 0 || (ranks_left > 0 ? left % ranks_left != 0 : left != 0)) return {};
        of_rank = ranks_left > 0 ? left / ranks_left : 0;
        if (rank == 0 && first > 0) of_rank = first;
        if (rank == stages - 1 && last > 0) of_rank = last;
      } else {
        const std::int64_t slots = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
        if (slots % stages != 0) return {};
        of_rank = slots / stages;
      }
      if (of_rank % chunks != 0 || of_rank == 0) return {};
      std::int64_t built = of_rank / chunks;
      if (embedding && rank == 0 && chunk == 0) --built;
      if (loss && rank == stages - 1 && chunk == chunks - 1) --built;
      if (built < 0) return {};
      sum += built;
    }
    of_ranks.push_back(sum);
  }
  return of_ranks;
}

/// The divisions of Megatron-LM for all its arguments.
std::set<Layers> of_megatron(std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  std::set<Layers> found;
  for (const bool embedding : {false, true}) {
    for (const bool loss : {false, true}) {
      for (std::int64_t first = 0; first <= layers; ++first) {
        for (std::int64_t last = 0; first + last <= layers; ++last) {
          found.insert(megatron(layers, stages, chunks, embedding, loss, first, last));
        }
      }
    }
  }
  found.erase(Layers());
  return found;
}

/// Calls `take` with each division of the layers among the stages that are left.
template <class Take>
void for_all(Layers& layers, std::size_t stage, std::int64_t left, const Take& take) {
  if (stage + 1 == layers.size()) {
    layers[stage] = left;
    return take(layers);
  }
  for (layers[stage] = 0; layers[stage] <= left; ++layers[stage]) {
    for_all(layers, stage + 1, left - layers[stage], take);
  }
}

TEST_CASE("interleaved stages are those that Megatron-LM divides layers into") {
  int some = 0, none = 0;
  for (std::int64_t stages = 2; stages <= 5; ++stages) {
    for (std::int64_t chunks = 2; chunks <= 4; ++chunks) {
      for (std::int64_t layers = 1; layers <= (stages < 5 ? 24 : 18); ++layers) {
        CAPTURE(stages);
        CAPTURE(chunks);
        CAPTURE(layers);
        const std::set<Layers> expected = of_megatron(layers, stages, chunks);
        std::set<Layers> judged, listed;
        Layers each(static_cast<std::size_t>(stages));
        for_all(each, 0, layers, [&](const Layers& one) {
          if (chunk_slots(one, chunks)) judged.insert(one);
        });
        std::int64_t fullest = 0;
        for_each_chunked(
            layers, stages, chunks,
            [&](std::int64_t least) {
              fullest = least;
              return true;
            },
            [&](const Layers& one) {
              CHECK(*std::max_element(one.begin(), one.end()) >= fullest);
              CHECK(listed.insert(one).second);
            });
        CHECK(judged == expected);
        CHECK(listed == expected);
        CHECK(have_chunks(layers, stages, chunks) == !expected.empty());
        CHECK(is_possible(Schedule::Interleaved, chunks, 3 * stages, stages, layers) ==
              !expected.empty());
        (expected.empty() ? none : some) += 1;
      }
    }
  }
  CHECK(some > 60);
  CHECK(none > 60);
}

TEST_CASE("slots of the embedding and of the loss") {
  // 405B in 8 stages of 8 chunks, and 94 layers in 32 stages of 3.
  Layers layers(8, 16);
  layers.front() = layers.back() = 15;
  const auto both = chunk_slots(layers, 8);
  REQUIRE(both);
  CHECK(both->embedding);
  CHECK(both->loss);
  CHECK_FALSE(both->own_ends);
  CHECK(have_chunks(94, 32, 3));
  CHECK_FALSE(have_chunks(94, 32, 4));
  const auto own = chunk_slots({6, 8, 8, 4}, 2);
  REQUIRE(own);
  CHECK(own->own_ends);
  CHECK_FALSE(chunk_slots({6, 6, 4}, 5));
  CHECK_FALSE(is_possible(Schedule::Interleaved, 5, 8, {6, 4}));
}

TEST_CASE("a search stops where the fullest stage has too many layers") {
  std::vector<Layers> seen;
  for_each_chunked(
      12, 3, 2, [](std::int64_t least) { return least <= 5; },
      [&](const Layers& one) { seen.push_back(one); });
  REQUIRE(!seen.empty());
  for (const Layers& one : seen) CHECK(*std::max_element(one.begin(), one.end()) <= 6);
  CHECK(seen.front() == Layers{4, 4, 4});
}

}  // namespace
}  // namespace dfsearch::training
