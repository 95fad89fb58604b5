#pragma once
// How long collectives take on measured links (docs/truth.md, section 4).

#include "base/units.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// The places of the members of a group: `inside` in each of `domains`.
struct Reach {
  double inside = 1.0;
  double domains = 1.0;

  [[nodiscard]] double members() const { return inside * domains; }
};

/// How often a collective passes all bytes around.
enum class Passes : std::uint8_t { One = 1, Two = 2 };

/// Refers to the setup, which outlives it.
class LinkTimes {
 public:
  explicit LinkTimes(const Setup& setup) : setup_(setup) {}

  /// All-gather and reduce-scatter pass once, an all-reduce twice; `whole` is of the group.
  /// docs/truth.md (9), (10)
  [[nodiscard]] Seconds collective(Bytes whole, const Reach& reach, Passes passes) const;
  /// An all-to-all; `whole` is the bytes of all members.
  [[nodiscard]] Seconds all_to_all(Bytes whole, const Reach& reach) const;
  /// Tokens to the experts that they use, or back: `bytes` belong to the tokens of a chip; each
  /// token uses `used` experts evenly and goes to at most `node_limit` domains (0: all).
  /// docs/truth.md (11)
  [[nodiscard]] Seconds dispatch(Bytes bytes, double used, double node_limit,
                                 const Reach& experts) const;
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
