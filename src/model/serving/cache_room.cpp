// The parts of the memory come from the pass of the replicas that decode.  The bytes at each level
// come from the figures of the deployment with the constants of the level.

#include "model/serving/cache_room.hpp"

#include <algorithm>

#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {
namespace {

/// The memory of the fullest chip of both sides at a level, as its share of usable memory times the
/// usable memory of the decode pool.
double filled_at(Task task, const Deployment& deployment, memory::Level level) {
  task.level = level;
  const Figures figures = evaluate(task, deployment);
  const Pool& pool = task.pools[deployment.decode.structure.pool];
  return figures.fullness * pool.usable().in_base_units();
}

}  // namespace

CacheRoom cache_room(const Task& task, const Deployment& deployment) {
  const Role& role = deployment.decode;
  const Means means(task.requests);
  const Decoder decoder(task, means, role.structure, role.depth, role.chunk);
  const ServerMemory parts = decoder.parts_of_memory(role.batch);
  const Pool& pool = task.pools[role.structure.pool];
  std::int64_t longest = 0;
  for (const RequestClass& request : task.requests) {
    longest = std::max(longest, request.input + request.output);
  }
  CacheRoom room{.weights = parts.weights,
                 .activation = parts.activation,
                 .other = parts.outside + parts.graphs,
                 .cache = std::max(parts.cache, 0.0),
                 .tokens = tokens_of(parts.cache, parts.cell, pool.server ? 16.0 : 1.0),
                 .max_model_len = task.max_model_len.value_or(longest),
                 .filled = {}};
  const double length = real(room.max_model_len);
  if (task.model.window > 0 || task.model.mixed) {
    const double bytes = decoder.cached_bytes(length);
    room.requests = room.cache / bytes;
  } else {
    room.requests = real(room.tokens) / length;
  }
  const bool is_apart = deployment.mode == Mode::Disaggregated;
  room.is_guessed =
      pool.is_guessed() || (is_apart && task.pools[deployment.prefill.structure.pool].is_guessed());
  if (!pool.server && !room.is_guessed) return room;
  auto& filled = room.filled.emplace();
  for (const memory::Level level : memory::kLevels) {
    filled[level] = Bytes(filled_at(task, deployment, level));
  }
  room.verdict = memory::verdict(filled, pool.usable());
  return room;
}

}  // namespace dfsearch::serving
