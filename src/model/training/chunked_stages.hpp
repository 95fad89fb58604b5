#pragma once
// The layers that stages of an interleaved pipeline may have (docs/training.md, section 4): one
// rule for the search, the evaluation of a plan, the check of a config and launch arguments.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace dfsearch::training {

/// The division of stages into chunks of equally many slots.  A layer takes a slot;
/// the embedding may take one of the first chunk of the first stage, and the loss one of the last
/// chunk of the last stage.
struct ChunkSlots {
  bool embedding = false;  ///< takes a slot
  bool loss = false;
  bool own_ends = false;  ///< the first or the last stage has other layers than those between
};

/// Nothing if such stages have no equal chunks.  Stages are alike, unless every layer and nothing
/// else takes a slot: then the first and the last one may have numbers of their own.
std::optional<ChunkSlots> chunk_slots(const std::vector<std::int64_t>& layers, std::int64_t chunks);

/// Whether some division of `layers` layers among the stages has chunks.
bool have_chunks(std::int64_t layers, std::int64_t stages, std::int64_t chunks);

/// Calls `take` with the layers of the stages of each pipeline that `chunk_slots` divides into
/// `chunks` chunks.  Pipelines whose fullest stage has least come first; before them `goes_on` is
/// asked with the least layers of this stage, and the rest is left out where it returns false.
void for_each_chunked(std::int64_t layers, std::int64_t stages, std::int64_t chunks,
                      const std::function<bool(std::int64_t least)>& goes_on,
                      const std::function<void(const std::vector<std::int64_t>& layers)>& take);

}  // namespace dfsearch::training
