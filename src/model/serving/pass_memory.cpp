// The memory of a chip by its stage: the fullest one decides what fits (docs/serving.md, section
// 3).

#include <algorithm>
#include <array>

#include "model/serving/pass.hpp"

namespace dfsearch::serving {

double Pass::cached_bytes(const Cached& cached) const {
  double bytes = 0.0;
  for (const Stage& stage : stages_) bytes += cached_in(stage, cached, 0.0);
  return bytes;
}

double Pass::held_bytes(const Cached& cached) const {
  double bytes = 0.0;
  for (const Stage& stage : stages_) bytes += cached_in(stage, cached, page_tokens());
  return bytes;
}

ServerMemory Pass::memory_of_stage(const Stage& stage, double tokens, double requests,
                                   double drafts) const {
  const double total = pool_.machine.memory[0].capacity.in_base_units();
  const double weights = stage.held + drafts;
  if (pool_.server) {
    const Server& server = *pool_.server;
    const double together = requests * real(structure_.pipeline);
    const IterationSize size{
        .tokens = server.batched_tokens ? real(*server.batched_tokens) : tokens,
        .requests = std::max(real(server.max_seqs), together)};
    const ServerChip chip{.total = total,
                          .share = pool_.share(),
                          .tensor = real(structure_.tensor),
                          .together = structure_.chips()};
    return memory_of(server, model_, chip, weights, size, task_.level);
  }
  // If the memory of the engine is guessed, the low level leaves it out, since a guess proves
  // nothing.
  const bool is_least = pool_.is_guessed() && task_.level == memory::Level::Low;
  ServerMemory memory{.weights = weights,
                      .activation = is_least ? 0.0 : tokens * working_,
                      .outside = is_least ? 0.0 : pool_.engine.reserved.in_base_units()};
  memory.cache =
      pool_.usable().in_base_units() - memory.weights - memory.activation - memory.outside;
  return memory;
}

namespace {

/// Used bytes of the usable memory, if caches take `cached` bytes.
double filled(const ServerMemory& memory, const Pool& pool, double cached) {
  if (!pool.server) return memory.weights + cached + memory.activation + memory.outside;
  return pool.usable().in_base_units() - memory.cache + cached;
}

}  // namespace

double Pass::memory(double requests, const Cached& cached, double tokens, double drafts) const {
  double fullest = 0.0;
  for (const Stage& stage : stages_) {
    const double caches =
        requests * real(structure_.pipeline) * cached_in(stage, cached, page_tokens());
    fullest =
        std::max(fullest, filled(memory_of_stage(stage, tokens, requests, drafts), pool_, caches));
  }
  return fullest;
}

ServerMemory Pass::parts_of_memory(double requests, const Cached& cached, double tokens,
                                   double drafts) const {
  ServerMemory fullest;
  double most = 0.0;
  for (const Stage& stage : stages_) {
    const double caches =
        requests * real(structure_.pipeline) * cached_in(stage, cached, page_tokens());
    const ServerMemory memory = memory_of_stage(stage, tokens, requests, drafts);
    const double full = filled(memory, pool_, caches);
    if (full <= most) continue;
    most = full;
    fullest = memory;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      fullest.cell += real(stage.layers[i]) * kinds_[i].cached();
    }
  }
  return fullest;
}

}  // namespace dfsearch::serving
