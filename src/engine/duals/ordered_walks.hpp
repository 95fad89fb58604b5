#pragma once
// Walks through the sets of several first kernels, maybe by several threads, as if one came after
// the other.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/shared_work.hpp"

namespace dfsearch {

/// Runs walks side by side and puts what they find together in their order: steps count as if each had
/// begun after the one before, so the outcome does not depend on who helps.  A Walk is used by one
/// thread at a time; its Found has the `steps` that it took, more than there were if those did not
/// suffice.  Refers to the work.
template <class Walk>
class OrderedWalks {
 public:
  using Found = typename Walk::Found;
  using Make = std::function<std::unique_ptr<Walk>()>;
  OrderedWalks(SharedWork& work, Make make) : work_(work), make_(std::move(make)) {}

  /// Calls `find(walk, number, steps)` for all numbers below `count`, and `keep(number, found)` in
  /// ascending order.  False, with none kept after it, once one did not have steps enough.
  template <class Find, class Keep>
  bool run(std::size_t count, std::int64_t& steps, Find find, Keep keep) {
    struct Tried {
      Found found;
      std::int64_t limit = 0;
      std::atomic<std::int64_t> steps = 0;  // known once it is done
    };
    std::vector<Tried> tried(count);
    work_.run(count, [&](std::size_t i) {
      // What those before have taken so far is missing for this one in any case.
      tried[i].limit = steps;
      for (std::size_t j = 0; j < i; ++j) {
        tried[i].limit -= tried[j].steps.load(std::memory_order_relaxed);
      }
      tried[i].found = with_walk(find, i, tried[i].limit);
      tried[i].steps.store(tried[i].found.steps, std::memory_order_relaxed);
    });
    for (std::size_t i = 0; i < count; ++i) {
      Found& found = tried[i].found;
      const bool is_enough = found.steps <= steps;
      if (!is_enough && tried[i].limit != steps) found = with_walk(find, i, steps);
      steps -= found.steps;
      keep(i, std::move(found));
      if (!is_enough) return false;
    }
    return true;
  }

 private:
  template <class Find>
  Found with_walk(Find find, std::size_t number, std::int64_t steps) {
    std::unique_ptr<Walk> walk;
    if (const std::lock_guard lock(mutex_); !free_.empty()) {
      walk = std::move(free_.back());
      free_.pop_back();
    }
    if (!walk) walk = make_();
    Found found = find(*walk, number, steps);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(walk));
    return found;
  }

  SharedWork& work_;
  const Make make_;
  std::mutex mutex_;                         // guards what follows
  std::vector<std::unique_ptr<Walk>> free_;  // in all as many as were ever at it at once
};

}  // namespace dfsearch
