#pragma once
// The memory of a chip that serves: the space beside weights and caches which a release of an
// engine takes, and the tokens of cache that fit (docs/serving.md, section 3).

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "base/words.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "model/memory/levels.hpp"

namespace dfsearch::serving {

/// Releases of engines that divide the memory alike.
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

/// The arguments of a server that decide its memory.
struct Server {
  Release release = Release::VllmV1;
  std::int64_t max_seqs = 0;                      ///< requests of a rank that run at once, at most
  std::optional<std::int64_t> batched_tokens;     ///< of an iteration, at most; else its own
  std::optional<double> share;                    ///< of the memory; else by the release
  std::optional<memory::ByLevel<Bytes>> outside;  ///< beside the allocator; else by the release
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
  double activation = 0.0;  ///< of the largest pass, which the server runs at its start
  double outside = 0.0;     ///< context, libraries and exchanges
  double graphs = 0.0;      ///< that count within the share
  double cache = 0.0;       ///< room for caches; below 0: the rest does not fit
  double cell = 0.0;        ///< of the cache of a token in all layers
};

struct ServerChip {
  double total = 0.0;         ///< bytes that its driver shows
  double share = 1.0;         ///< of them, that the server may take
  double tensor = 1.0;        ///< chips that divide a layer
  std::int64_t together = 1;  ///< chips of a replica
};

/// The share of `total` bytes of memory that a server takes.
double share_of(const Server& server, double total);
/// Requests at once, of releases whose start depends on them.
std::int64_t max_seqs_of(Release release, double total);
/// Stored over real bytes of the weights of experts in `mxfp4`, whose rows are padded.
double padding_of(Release release);
/// Whether all layers have pages of one size, so that a state takes a page.
bool has_pages(Release release);
/// Bytes beside the allocator, at each end.
memory::ByLevel<Bytes> outside_of(Release release, std::int64_t together);
/// (14a) of docs/serving.md: the largest pass, or the logits that are sorted to draw tokens.
double activation_of(Release release, const Transformer& model, double tensor,
                     const IterationSize& size, memory::Level level);
/// (14b): the bytes that are left for caches beside `weights`.  Falls with the weights and with the
/// size of an iteration.
ServerMemory memory_of(const Server& server, const Transformer& model, const ServerChip& chip,
                       double weights, const IterationSize& size, memory::Level level);
/// Elements of the norms of a layer, which each chip holds whole.
double norm_elements(const Transformer& model);
/// Tokens of `cell` bytes in whole blocks of `block` tokens.
std::int64_t tokens_of(double cache, double cell, double block);

}  // namespace dfsearch::serving
