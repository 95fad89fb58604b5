// At its start, a server measures the memory of its largest pass, and gives the remainder of a
// share of the memory to caches.  Constants are taken from the software, or fitted if the software
// does not show them (docs/serving.md, section 3).  PagedAttention: Kwon et al., SOSP 2023.

#include "model/serving/server_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace dfsearch::serving {
namespace {

using memory::ByLevel;
using memory::Level;

constexpr double kGiB = 1073741824.0;
/// Chips with at least this memory count as large.
constexpr double kLarge = 70.0 * kGiB;

enum class Family : std::uint8_t { Vllm, Sglang, Trtllm };

/// GiB at the three levels.
struct Ends {
  double low, typical, high;
};

struct ReleaseRow {
  Family family;
  Ends alone, together;    ///< outside the allocator: of a single chip, of one of several
  double sorting;          ///< bytes for each logit while tokens are sampled
  std::int64_t seqs;       ///< most requests at once on a large chip
  double utilization;      ///< default share of the memory; 0: depends on the chip
  bool graphs_are_inside;  ///< whether recorded graphs count within the share
};

// Outside the allocator: logs of vLLM (pull requests 2031, 10511 and 17122; issues 6746, 10517,
// 13061, 21348, 23278, 25350 and 27508), of SGLang, and the capacity test of TensorRT-LLM in
// ai-dynamo/aiconfigurator @095f58a5.  If no log shows the low and high values, they are 0.6 and 2
// times the typical one.  Sorting: 5.58 GiB of 1,024 requests and 151,936 logits.
constexpr std::array<ReleaseRow, kReleases> kReleaseRows = {{
    {Family::Vllm, {0.3, 0.5, 1.0}, {0.9, 1.5, 3.0}, 36.0, 256, 0.9, false},
    {Family::Vllm, {0.8, 1.3, 2.6}, {2.2, 3.6, 7.2}, 36.0, 256, 0.9, false},
    {Family::Vllm, {0.05, 0.08, 0.6}, {0.17, 0.28, 1.2}, 36.0, 256, 0.9, false},
    {Family::Vllm, {0.4, 0.7, 1.4}, {1.0, 1.6, 3.2}, 38.65, 1024, 0.9, false},
    {Family::Vllm, {0.02, 0.07, 0.6}, {0.3, 1.3, 2.5}, 38.65, 1024, 0.9, false},
    {Family::Vllm, {0.02, 0.07, 0.6}, {0.3, 1.3, 2.5}, 38.65, 1024, 0.92, true},
    {Family::Sglang, {0.4, 0.7, 1.7}, {0.6, 1.0, 2.5}, 0.0, 0, 0.0, true},
    {Family::Trtllm, {1.9, 2.35, 3.4}, {1.9, 2.35, 3.4}, 0.0, 0, 0.9, true},
}};

const ReleaseRow& release_row(Release release) {
  return kReleaseRows[static_cast<std::size_t>(release)];
}

double at(const Ends& ends, Level level) {
  return level == Level::Low ? ends.low : level == Level::Typical ? ends.typical : ends.high;
}

/// GiB that exchanges take in TensorRT-LLM.
double exchanges(std::int64_t together) {
  if (together <= 1) return 0.0;
  return together <= 2 ? 1.25 : together <= 4 ? 2.0 : 2.4;
}

}  // namespace

double share_of(const Server& server, double total) {
  if (server.share) return *server.share;
  const ReleaseRow& row = release_row(server.release);
  if (row.utilization > 0.0) return row.utilization;
  // SGLang reserves 512 MB plus 1.5 MB for each token of its chunk for passes, and at least 10 GiB
  // on large chips (server_args.py and AIConfigurator's sglang_backend).
  const double chunk = server.batched_tokens ? static_cast<double>(*server.batched_tokens)
                       : total < 35.0 * kGiB ? 2048.0
                       : total < 60.0 * kGiB ? 4096.0
                                             : 8192.0;
  const double kept = (512.0 + 1.5 * std::max(chunk, 2048.0)) / 1024.0 * kGiB;
  constexpr double kLeast = 1e-6;  // positive share if the chip has less than the reserved memory
  return std::max(kLeast, 1.0 - std::max(kept, total > 60e9 ? 10.0 * kGiB : 0.0) / total);
}

std::int64_t max_seqs_of(Release release, double total) {
  return total >= kLarge ? release_row(release).seqs
                         : std::min<std::int64_t>(release_row(release).seqs, 256);
}

double padding_of(Release release) {
  constexpr double kPadding = 1.07;  // gpt-oss-120b, vLLM issue 27508
  return release_row(release).family == Family::Vllm ? kPadding : 1.0;
}

bool has_pages(Release release) { return release_row(release).family == Family::Vllm; }

ByLevel<Bytes> outside_of(Release release, std::int64_t together) {
  const ReleaseRow& row = release_row(release);
  const double more = row.family == Family::Trtllm ? exchanges(together) : 0.0;
  ByLevel<Bytes> bytes;
  for (const Level level : memory::kLevels) {
    bytes[level] = Bytes(kGiB * (at(together > 1 ? row.together : row.alone, level) + more));
  }
  return bytes;
}

double activation_of(Release release, const Transformer& model, double tensor,
                     const IterationSize& size, Level level) {
  constexpr Ends kOfPass{0.9, 1.0, 1.3}, kOfSorting{0.9, 1.0, 1.1};
  constexpr double kStatic = 1.8;  // of TensorRT-LLM, from the capacity test
  const ReleaseRow& row = release_row(release);
  if (row.family == Family::Sglang) return 0.0;  // within the memory that SGLang reserves
  const auto real = [](std::int64_t count) { return static_cast<double>(count); };
  const double h = real(model.hidden);
  double width = 3.0 * h;
  if (model.experts) {
    const Experts& experts = *model.experts;
    const double mlp = 3.0 * real(experts.mlp) / tensor;
    width += real(experts.used) * (h + mlp) + real(experts.shared) * mlp;
  } else {
    width += 3.0 * real(model.mlp) / tensor;
  }
  const double pass = 2.0 * size.tokens * width * (row.family == Family::Trtllm ? kStatic : 1.0);
  const double sorting = row.sorting * size.requests * real(model.vocabulary);
  return std::max(pass * at(kOfPass, level), sorting * at(kOfSorting, level));
}

ServerMemory memory_of(const Server& server, const Transformer& model, const ServerChip& chip,
                       double weights, const IterationSize& size, Level level) {
  const ReleaseRow& row = release_row(server.release);
  ServerMemory memory{.weights = weights};
  memory.activation = activation_of(server.release, model, chip.tensor, size, level);
  const ByLevel<Bytes> outside =
      server.outside ? *server.outside : outside_of(server.release, chip.together);
  memory.outside = outside[level].in_base_units();
  const double graphs = server.graphs.in_base_units();
  memory.graphs = row.graphs_are_inside ? graphs : 0.0;
  const double share = chip.share;
  switch (row.family) {
    case Family::Vllm: {
      // Graphs outside of the share need memory beside it.
      const double left = row.graphs_are_inside ? chip.total : chip.total - graphs;
      memory.cache = std::min(share * chip.total, left) - memory.weights - memory.activation -
                     memory.outside - memory.graphs;
      break;
    }
    case Family::Sglang:
      memory.cache = share * (chip.total - memory.outside) - memory.weights;
      break;
    case Family::Trtllm:
      memory.cache = share * (chip.total - memory.weights - memory.activation - memory.outside -
                              memory.graphs);
      break;
  }
  return memory;
}

double norm_elements(const Transformer& model) {
  return (model.gated ? 2.0 : 4.0) * static_cast<double>(model.hidden);
}

std::int64_t tokens_of(double cache, double cell, double block) {
  if (!(cache > 0.0) || !(cell > 0.0) || !std::isfinite(cache)) return 0;
  return static_cast<std::int64_t>(std::floor(cache / cell / block) * block);
}

}  // namespace dfsearch::serving
