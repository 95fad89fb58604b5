#pragma once
// The times of collectives on dimensions of the network, for mappings and plans
// (docs/model.md, section 5).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/machine/collective_forms.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The dimensions of one strategy, or of all, innermost first.  A collective over no dimension, or
/// over dimensions of degree 1, takes no time.
/// Immutable.
class Collectives {
 public:
  /// A dimension, or a part of a dimension that communicates like one of this degree.
  struct Dimension {
    Topology topology;
    double degree;
    BytesPerSecond bandwidth;
    Seconds latency;
    bool both_ways = false;  ///< as in NetworkDimension
    bool on_mesh = false;    ///< a ring on a mesh, which may share links with other rings
  };

  /// `network` gives degrees and strategies, `system` topologies and bandwidths.
  Collectives(const Machine& system, const std::vector<Mapping::Dimension>& network,
              std::optional<Strategy> strategy, const Equations& equations);

  /// `dimensions` have degrees above 1 and are listed innermost first.
  explicit Collectives(std::vector<Dimension> dimensions);

  /// These dimensions with other degrees; `degrees` has one for each dimension.
  [[nodiscard]] Collectives of_degrees(const std::vector<double>& degrees) const;

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// The product of the degrees.
  [[nodiscard]] std::int64_t members() const { return members_; }

  /// `whole` is the bytes of the reduced or gathered tensor.  Dimensions work one after the other,
  /// each on the bytes that inner dimensions leave, so their times add up; depending on `gather_`,
  /// the axes of a torus, or all dimensions, work at once.
  [[nodiscard]] Seconds all_reduce(Bytes whole) const;
  [[nodiscard]] Seconds all_gather(Bytes whole) const;
  /// `member` is the bytes that one member holds.  The dimensions work in a pipeline, so the
  /// slowest dimension counts.
  [[nodiscard]] Seconds all_to_all(Bytes member) const;
  /// An all-to-all as the published runs charge it, as if each pair exchanged `shard` bytes.
  [[nodiscard]] Seconds all_to_all_per_pair(Bytes shard) const;
  /// All members send each other `pair` bytes, over the links of the narrowest cut.
  [[nodiscard]] Seconds all_to_all_over_bisection(Bytes pair, PairCount count) const;
  /// One message over the slowest dimension.
  [[nodiscard]] Seconds point_to_point(Bytes message) const;
  /// An all-reduce among all members as one group, at the given bandwidth or else the bandwidth of
  /// the slowest dimension.
  [[nodiscard]] Seconds flat_all_reduce(Bytes whole, std::optional<BytesPerSecond> given) const;
  /// The latencies of an all-reduce, of an all-gather or a reduce-scatter, and of an all-to-all:
  /// sums over the hops of all dimensions.
  [[nodiscard]] Seconds all_reduce_latency() const;
  [[nodiscard]] Seconds gather_latency() const;
  [[nodiscard]] Seconds exchange_latency() const;
  /// The latency of one message over the dimension where it is longest.
  [[nodiscard]] Seconds message_latency() const;

 private:
  [[nodiscard]] bool uses_both_ways(const Dimension& dimension) const {
    return directions_ == 2 || (dimension.both_ways && gather_ != GatherOrder::InTurn);
  }
  [[nodiscard]] double cut_of_grid(std::size_t cut) const;
  void set_axes();

  std::vector<Dimension> dimensions_;  // only those with degree > 1
  std::int64_t members_ = 1;
  double all_reduce_passes_ = 2.0;
  LatencyRule latency_ = LatencyRule::Hops;
  GatherOrder gather_ = GatherOrder::Tori;
  int directions_ = 1;
  /// The dimensions, if some use both directions or all work at once; else empty.
  std::vector<collective::Axis> axes_;
};

}  // namespace dfsearch
