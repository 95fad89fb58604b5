#pragma once
// Better fusions that are looked for while a search goes on, with an effort in proportion to it.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/window_fusion.hpp"

namespace dfsearch {

/// The windows of some tables, to which it refers.  Any thread may use it.
class LazyWindows {
 public:
  explicit LazyWindows(const FusionTables& tables) : tables_(tables) {}

  /// The best fusion after so many attempts, no matter who made them; null: none.  The outcome is
  /// a function of the tables.  Throws Stopped by their deadline.
  [[nodiscard]] std::shared_ptr<const Fusion> after(int attempts) const;

  /// How many attempts are due after so many nodes of a search.
  [[nodiscard]] static int attempts_due(std::int64_t nodes);

 private:
  void attempt() const;

  const FusionTables& tables_;
  mutable std::mutex mutex_;  // guards all that follows
  mutable bool ended_ = false;
  mutable std::optional<WindowSearch> search_;                // while it goes on
  mutable std::vector<std::shared_ptr<const Fusion>> found_;  // after each attempt
};

}  // namespace dfsearch
