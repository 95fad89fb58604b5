// Megatron-LM divides layers so (core: get_num_layers_to_build): embedding and loss count as layers
// with --account-for-embedding-in-pipeline-split and --account-for-loss-in-pipeline-split, or the ends
// have their own layers with --decoder-first-pipeline-num-layers and -last-, and virtual stages divide
// what each rank has.  Against plain enumeration: tests/model/training/chunked_stages_test.cpp.

#include "model/training/chunked_stages.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dfsearch::training {
namespace {

constexpr std::array<std::pair<bool, bool>, 3> kSlotsOfEnds = {
    {{false, true}, {true, false}, {true, true}}};

}  // namespace

std::optional<ChunkSlots> chunk_slots(const std::vector<std::int64_t>& layers,
                                      std::int64_t chunks) {
  if (layers.size() < 2) return std::nullopt;
  const auto are_alike = [&](std::int64_t first, std::int64_t last) {
    return first == last && std::all_of(layers.begin() + 1, layers.end() - 1,
                                        [&](std::int64_t each) { return each == first; });
  };
  const auto divides = [&](std::int64_t each) { return each >= chunks && each % chunks == 0; };
  const bool alike_between = std::all_of(layers.begin() + 1, layers.end() - 1,
                                         [&](std::int64_t each) { return each == layers[1]; });
  if (alike_between && std::all_of(layers.begin(), layers.end(), divides)) {
    return ChunkSlots{.own_ends = !are_alike(layers.front(), layers.back())};
  }
  for (const auto& [embedding, loss] : kSlotsOfEnds) {
    const std::int64_t first = layers.front() + (embedding ? 1 : 0);
    if (divides(first) && are_alike(first, layers.back() + (loss ? 1 : 0))) {
      return ChunkSlots{.embedding = embedding, .loss = loss};
    }
  }
  return std::nullopt;
}

bool have_chunks(std::int64_t layers, std::int64_t stages, std::int64_t chunks) {
  const std::int64_t each = stages * chunks;
  return stages > 1 && ((layers >= each && layers % chunks == 0) || (layers + 1) % each == 0 ||
                        (layers + 2) % each == 0);
}

void for_each_chunked(std::int64_t layers, std::int64_t stages, std::int64_t chunks,
                      const std::function<bool(std::int64_t least)>& goes_on,
                      const std::function<void(const std::vector<std::int64_t>& layers)>& take) {
  if (!have_chunks(layers, stages, chunks)) return;
  std::vector<std::int64_t> stage_layers(static_cast<std::size_t>(stages));
  const auto pass = [&](std::int64_t first, std::int64_t between, std::int64_t last) {
    std::fill(stage_layers.begin(), stage_layers.end(), between);
    stage_layers.front() = first;
    stage_layers.back() = last;
    take(stage_layers);
  };
  const bool own_ends = layers % chunks == 0;
  const std::int64_t inner = stages - 2;
  const std::int64_t average = (layers + stages - 1) / stages;
  std::int64_t most = (average + chunks - 1) / chunks * chunks;
  // Stages that are alike in slots have no more than that; else the others keep one in each chunk.
  const std::int64_t end = std::max(most, own_ends ? layers - (stages - 1) * chunks : 0);
  for (; most <= end; most += chunks) {
    if (!goes_on(std::max(most - 1, average))) return;
    for (const auto& [embedding, loss] : kSlotsOfEnds) {
      const std::int64_t first = most - (embedding ? 1 : 0), last = most - (loss ? 1 : 0);
      if (first + inner * most + last == layers) pass(first, most, last);
    }
    if (!own_ends) continue;
    for (std::int64_t between = inner > 0 ? chunks : most; between <= most; between += chunks) {
      const std::int64_t ends = layers - inner * between;
      // The later one has at least as much where either may be the fullest.
      std::int64_t first = std::max(chunks, ends - most);
      const std::int64_t last_first = std::min(most, ends - chunks);
      const std::int64_t step =
          inner > 0 && between == most ? chunks : std::max(last_first - first, chunks);
      for (; first <= last_first; first += step) {
        if (std::max({first, ends - first, inner > 0 ? between : 0}) == most) {
          pass(first, between, ends - first);
        }
      }
    }
  }
}

}  // namespace dfsearch::training
