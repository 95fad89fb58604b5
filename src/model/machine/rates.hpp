#pragma once
// Engines and memories whose rates depend on the amount of work of one kernel: small kernels
// reach a small share of the peak.

#include <vector>

#include "base/units.hpp"

namespace dfsearch {

/// The share of a peak rate that one kernel on one chip reaches, by its work: the share of the
/// first step that begins at no more than the work.  Steps descend, and the last step begins at
/// zero.
template <class Work>
struct EfficiencyCurve {
  struct Step {
    Work from{};
    double share = 1.0;
  };
  std::vector<Step> steps;

  [[nodiscard]] double share(Work work) const {
    for (const Step& step : steps) {
      if (work >= step.from) return step.share;
    }
    return 1.0;
  }
};

/// A part of a processor that computes; it maps the FLOP of one kernel to seconds.
struct Engine {
  FlopsPerSecond peak{};
  EfficiencyCurve<Flops> efficiency;

  /// docs/calculon.md (C1)
  [[nodiscard]] Seconds time(Flops work) const {
    if (!(work > Flops{})) return {};
    return work / (peak * efficiency.share(work));
  }
};

/// A memory of one chip; it maps the bytes of one kernel to seconds.
struct MemoryTier {
  Bytes capacity = Bytes::infinity();
  BytesPerSecond bandwidth{};
  EfficiencyCurve<Bytes> efficiency;
  Seconds latency{};  ///< of one access; only mappings use it, and only of the first tier

  /// docs/calculon.md (C1)
  [[nodiscard]] Seconds time(Bytes bytes) const {
    if (!(bytes > Bytes{})) return {};
    return bytes / (bandwidth * efficiency.share(bytes));
  }
};

}  // namespace dfsearch
