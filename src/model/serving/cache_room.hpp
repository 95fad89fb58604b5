#pragma once
// The memory of a deployment by parts, and the number of requests that fit in its caches, as
// servers print them at their start (docs/serving.md, section 3).

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/memory/levels.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/server_memory.hpp"

namespace dfsearch::serving {

/// The fullest chip that decodes.
struct CacheRoom {
  double weights = 0.0;     ///< bytes
  double activation = 0.0;  ///< bytes of the largest iteration
  double other = 0.0;       ///< bytes outside of the allocator, reserved bytes, and recorded graphs
  double cache = 0.0;       ///< bytes left for caches; 0: the other parts fill the chip
  std::int64_t tokens = 0;  ///< tokens of cache of a rank
  std::int64_t max_model_len = 0;
  double requests = 0.0;  ///< requests of `max_model_len` tokens that fit
  /// Used bytes at each level, compared with the usable share; nothing for ideal engines.  If the
  /// release of the engine is unknown, the low level counts weights and caches alone, and the high
  /// level is equal to the typical one.
  std::optional<memory::ByLevel<Bytes>> filled;
  memory::Verdict verdict = memory::Verdict::Fits;
  bool is_guessed = false;  ///< whether the release of the engine is unknown for some role

  /// "guessed", or the name of the verdict.
  [[nodiscard]] std::string_view verdict_word() const {
    return is_guessed ? "guessed" : name_of(verdict);
  }
};

/// The room for caches of a deployment whose roles pass has_room().
CacheRoom cache_room(const Task& task, const Deployment& deployment);

}  // namespace dfsearch::serving
