#pragma once
// The memory of a chip that serves: the bytes that a release of an engine takes beside weights and
// caches, and the tokens of cache that fit (docs/serving.md, section 3).

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "base/words.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "model/memory/levels.hpp"

namespace dfsearch::serving {

/// Groups of releases of engines; releases of a group divide the memory alike.
enum class Release : std::uint8_t {
  Vllm063,
  Vllm065,
  VllmV0,
  VllmV109,
  VllmV1,
  Vllm021,
  Sglang,
  Trtllm
};
inline constexpr std::size_t kReleases = 8;
constexpr auto words(Release) {
  return named<Release>("vllm_0.6.3", "vllm_0.6.5", "vllm_v0", "vllm_v1_0.9", "vllm_v1",
                        "vllm_0.21", "sglang", "trtllm");
}

/// The arguments of a server that decide its memory.  Optional values have defaults of the release
/// or of the deployment.
struct Server {
  Release release = Release::VllmV1;
  std::int64_t max_seqs = 0;                      ///< most requests of a rank that run at once
  std::optional<std::int64_t> batched_tokens;     ///< most tokens of an iteration
  std::optional<double> share;                    ///< share of the memory
  std::optional<memory::ByLevel<Bytes>> outside;  ///< outside the allocator
  Bytes graphs{};                                 ///< recorded graphs of kernels
};

/// The most that an iteration of a server may hold.
struct IterationSize {
  double tokens = 0.0;
  double requests = 0.0;
};

/// Bytes of the fullest chip.
struct ServerMemory {
  double weights = 0.0;
  double activation = 0.0;  ///< activations of the largest pass, which the server runs at its start
  double outside = 0.0;     ///< outside the allocator: context, libraries, exchanges
  double graphs = 0.0;      ///< recorded graphs that count within the share
  double cache = 0.0;       ///< room for caches; below 0: the other parts do not fit
  double cell = 0.0;        ///< of the cache for a token in all layers
};

struct ServerChip {
  double total = 0.0;         ///< bytes that its driver shows
  double share = 1.0;         ///< share of `total` that the server may take
  double tensor = 1.0;        ///< chips that divide a layer
  std::int64_t together = 1;  ///< chips of a replica
};

/// The share of `total` bytes of memory that a server takes.
double share_of(const Server& server, double total);
/// Default of the most requests at once, for releases that size their memory by it.
std::int64_t max_seqs_of(Release release, double total);
/// Ratio of stored bytes to bytes without padding, for weights of experts in `mxfp4`.
double padding_of(Release release);
/// Whether all layers have pages of one size, so that a state takes a whole page.
bool has_pages(Release release);
/// Bytes outside the allocator, at each level.
memory::ByLevel<Bytes> outside_of(Release release, std::int64_t together);
/// (14a) of docs/serving.md: bytes of the largest pass, or of the logits that are sorted to sample
/// tokens, whichever are more.
double activation_of(Release release, const Transformer& model, double tensor,
                     const IterationSize& size, memory::Level level);
/// (14b): the memory, with the bytes left for caches beside `weights`.  The bytes left fall if
/// weights or the size of an iteration rise.
ServerMemory memory_of(const Server& server, const Transformer& model, const ServerChip& chip,
                       double weights, const IterationSize& size, memory::Level level);
/// Elements of the norms of a layer, which each chip holds whole.
double norm_elements(const Transformer& model);
/// The number of tokens of `cell` bytes that fit in `cache` bytes, in whole blocks of `block`
/// tokens.
std::int64_t tokens_of(double cache, double cell, double block);

}  // namespace dfsearch::serving
