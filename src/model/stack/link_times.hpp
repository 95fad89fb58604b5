#pragma once
// The times of collectives on measured links (docs/truth.md, section 3).

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// The places of the members of a group: `inside` in each of `domains`.
struct Reach {
  double inside = 1.0;
  double domains = 1.0;

  [[nodiscard]] double members() const { return inside * domains; }
};

/// How often a collective sends all bytes.
enum class Passes : std::uint8_t { One = 1, Two = 2 };

/// Tokens of a chip that use experts evenly.
struct SentTokens {
  Bytes all{};              ///< bytes of one row of every token
  Bytes row{};              ///< bytes of one row
  double used = 1.0;        ///< experts of a token
  double node_limit = 0.0;  ///< the most domains that a token goes to; 0: all
};

/// Refers to the setup, which outlives it.
class LinkTimes {
 public:
  explicit LinkTimes(const Setup& setup) : setup_(setup) {}

  /// An all-gather or a reduce-scatter has one pass, an all-reduce two; `whole` is the bytes of the
  /// gathered or reduced value.
  /// docs/truth.md (9), (10)
  [[nodiscard]] Seconds collective(Bytes whole, const Reach& reach, Passes passes) const;
  /// An all-to-all; `whole` is the bytes of all members.
  [[nodiscard]] Seconds all_to_all(Bytes whole, const Reach& reach) const;
  /// An exchange of rows of tokens to the experts that they use, or back.
  /// docs/truth.md (11)
  [[nodiscard]] Seconds dispatch(const SentTokens& tokens, const Reach& experts,
                                 Dispatcher dispatcher) const;
  /// A reduce-scatter or all-gather among replicas, as a ring for each of `buckets`; an all-reduce
  /// has two passes.
  /// docs/truth.md (20)
  [[nodiscard]] Seconds ring(Bytes whole, const Reach& reach, Passes passes, double buckets) const;
  /// Broadcasts in which `owners` send their parts of `whole`, one after the other.
  [[nodiscard]] Seconds broadcasts(Bytes whole, const Reach& reach, double owners) const;
  /// The time of a ring before the first byte, as benchmarks measure it.
  [[nodiscard]] Seconds ring_start(const Reach& reach, Passes passes) const;
  /// A message to the next stage, divided among `lanes` chips.
  [[nodiscard]] Seconds hop(Bytes message, bool across_domains, double lanes) const;

 private:
  [[nodiscard]] BytesPerSecond bus(double members) const;
  [[nodiscard]] BytesPerSecond nic() const;
  [[nodiscard]] BytesPerSecond bandwidth(const Reach& reach) const;
  [[nodiscard]] Seconds latency(const Reach& reach, double passes) const;

  const Setup& setup_;
};

}  // namespace dfsearch::stack
