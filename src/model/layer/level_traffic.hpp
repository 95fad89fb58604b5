#pragma once
// The traffic of a kernel through the levels of the chip (docs/technology.md, section 4).

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/units.hpp"
#include "graph/kernel.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

/// The words of a GEMM that leave the innermost level for the array of a core, which keeps
/// its output until it is done.
double array_words(const Shard& gemm, std::int64_t lanes, std::int64_t stages);
/// The words with the dataflow of the accelerator, which must not be Dataflow::Best.
double array_words(const Shard& gemm, const Accelerator& accelerator);

/// The least words of a GEMM that leave a level, over all tiles that a memory of `inner` words
/// further in can hold; infinite below three words.  It never grows with `inner`.
double tiled_words(const Shard& gemm, std::int64_t inner);

/// The number of words of `word` bytes in a share of a level, at most 2^62.
std::int64_t words_of(Bytes share, Bytes word);

/// The bytes that a kernel moves out of each level for one layer and sample.  `whole` has the
/// extents of the chip's part of the kernel over the whole sequence.
std::vector<Bytes> level_bytes(const Kernel& kernel, const Shard& whole,
                               const Accelerator& accelerator,
                               const std::vector<OnChipLevel>& levels, Bytes word);

/// Results of level_bytes for one machine and word, by kernel and extents, which many layers of a
/// search have in common.  Any thread may use it.
class LevelTrafficCache {
 public:
  std::vector<Bytes> level_bytes(const Kernel& kernel, const Shard& whole,
                                 const Accelerator& accelerator,
                                 const std::vector<OnChipLevel>& levels, Bytes word);

 private:
  using Key = std::tuple<KernelKind, Mode, std::int64_t, Shard>;
  static constexpr std::size_t kMostShapes = 100'000;  // a full cache learns nothing

  std::mutex mutex_;
  std::map<Key, std::vector<Bytes>> known_;  // guarded by mutex_
};

/// Whether every level but the outermost holds three words, which the smallest tiles take.
bool holds_tiles(const std::vector<OnChipLevel>& levels, Bytes word);

}  // namespace dfsearch
