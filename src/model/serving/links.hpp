#pragma once
// Exchanges among the chips of a replica, whose groups fill the network from the inside.

#include <cstdint>

#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// Seconds, and seconds for each byte.
struct LinkTime {
  double fixed = 0.0;
  double per_byte = 0.0;

  [[nodiscard]] double of(double bytes) const { return fixed + per_byte * bytes; }
};

class Links {
 public:
  /// Refers to the pool.
  explicit Links(const Pool& pool) : pool_(pool) {}

  /// Whether a group of `members` chips fills each dimension that it reaches beyond.
  [[nodiscard]] bool holds(std::int64_t members) const;
  /// The time of an all-reduce, for each byte of the reduced value.
  [[nodiscard]] LinkTime all_reduce(std::int64_t members) const;
  /// The time of an all-to-all, for each byte that a member sends; a share `leaving` of the bytes
  /// leaves the innermost dimension.
  [[nodiscard]] LinkTime all_to_all(std::int64_t members, double leaving = 1.0) const;
  /// The number of groups of the innermost dimension over which `members` chips extend.
  [[nodiscard]] std::int64_t groups(std::int64_t members) const;
  [[nodiscard]] LinkTime hop(std::int64_t stage_chips) const;

 private:
  struct Part {
    const NetworkDimension* dimension;
    double members;
  };
  [[nodiscard]] std::vector<Part> parts(std::int64_t members) const;
  [[nodiscard]] double rate(const NetworkDimension& dimension) const;
  [[nodiscard]] static double ways(const NetworkDimension& dimension, double members);

  const Pool& pool_;
};

}  // namespace dfsearch::serving
