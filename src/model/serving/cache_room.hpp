#pragma once
// The memory of a deployment by its parts, and the requests for which its caches have room, as
// servers print them when they start (docs/serving.md, section 3).

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
  double activation = 0.0;  ///< bytes of an iteration at its largest
  double other = 0.0;       ///< bytes outside of the allocator, reserved, and of recorded graphs
  double cache = 0.0;       ///< bytes that are left; 0: the rest fills the chip
  std::int64_t tokens = 0;  ///< of a rank
  std::int64_t max_model_len = 0;
  double requests = 0.0;  ///< of `max_model_len` tokens
  /// Bytes that fill the usable share at each level, and the judgement, of an engine: the low end
  /// of one without a known release is weights and caches alone, and the high one the typical one.
  std::optional<memory::ByLevel<Bytes>> filled;
  memory::Verdict verdict = memory::Verdict::Fits;
  bool is_guessed = false;  ///< the release of the engine of some role is not known

  /// `guessed`, or the judgement.
  [[nodiscard]] std::string_view verdict_word() const {
    return is_guessed ? "guessed" : name_of(verdict);
  }
};

/// The deployment has room on its chips (see has_room).
CacheRoom cache_room(const Task& task, const Deployment& deployment);

}  // namespace dfsearch::serving
