#pragma once
// Means over the classes of requests.

#include <cstdint>
#include <vector>

#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// The prefill that an iteration or a pass takes along.
struct PrefillWork {
  double tokens = 0.0;
  double pairs = 0.0;     ///< of queries and keys
  double entries = 0.0;   ///< of the cache that are read
  double requests = 0.0;  ///< that get their first token
};

/// (1) to (4) of docs/serving.md.
struct Means {
  explicit Means(const std::vector<RequestClass>& classes);

  double input = 0.0;
  double output = 0.0;
  double fresh = 0.0;    ///< tokens of the input that are not cached
  double pairs = 0.0;    ///< of a prefill, causal
  double steps = 0.0;    ///< tokens after the first
  double context = 0.0;  ///< that such a step sees
  double grown = 0.0;    ///< tokens that a running request may grow to, by its time
  double longest = 0.0;
  double variation = 0.0;  ///< squared coefficient of variation of `fresh`

  /// Mixed iterations of a request with chunks of so many tokens; several requests share one that
  /// holds them.
  [[nodiscard]] double iterations(std::int64_t chunk) const;
  /// The same where each request has its own.
  [[nodiscard]] double whole_iterations(std::int64_t chunk) const;
  /// Of a mixed iteration.
  [[nodiscard]] PrefillWork work_of_chunk(std::int64_t chunk) const;
  /// Of a pass over so many whole requests.
  [[nodiscard]] PrefillWork work_of_pass(std::int64_t requests) const;

 private:
  std::vector<RequestClass> classes_;  // shares add up to 1
};

}  // namespace dfsearch::serving
