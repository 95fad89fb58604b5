#pragma once
// Times of collectives on all axes of a network at once, in both directions of its links, and as
// NCCL reaches them (docs/collectives.md).

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/machine/topology.hpp"

namespace dfsearch::collective {

/// A network dimension with members.
struct Axis {
  Topology topology = Topology::Ring;
  double n = 1.0;
  BytesPerSecond link{};  ///< of one link in one direction
  Seconds alpha{};        ///< of a hop
  double taper = 1.0;     ///< of a switch: bandwidth inside groups over bandwidth beyond them
  double group = 1.0;     ///< of a switch: members of such a group
  bool reduces = false;   ///< the switch adds up
};

/// The operations of a group of chips.
enum class Kind : std::uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
};
constexpr auto words(Kind) {
  return named<Kind>("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast");
}

/// Bytes a second that can enter the chip with the fewest links along the axis.
BytesPerSecond into(const Axis& axis);

/// An all-gather of `whole` bytes, or a reduce-scatter: on all axes at once, or axis after axis
/// from the inside out.
Seconds gather_at_once(std::span<const Axis> axes, Bytes whole);
Seconds gather_in_turn(std::span<const Axis> axes, Bytes whole);
/// An all-reduce of `whole` bytes: two gathers, or one pass through a switch that reduces.
Seconds all_reduce(std::span<const Axis> axes, Bytes whole);
/// Every member sends `held` bytes in all, an equal part to each other.
Seconds all_to_all(std::span<const Axis> axes, Bytes held);
Seconds broadcast(std::span<const Axis> axes, Bytes whole);
/// The latency of the hops of the first byte, axis after axis; twice for an all-reduce.
Seconds latency(std::span<const Axis> axes, Kind kind);

/// A network of two levels: `n_in` chips in each of `n_out` nodes, the bandwidths of a chip, and
/// the shares of them that are reached.
struct TwoLevels {
  double n_in = 1.0;
  double n_out = 1.0;
  BytesPerSecond inside{};
  BytesPerSecond outside{};
  double share_in = 1.0;
  double share_out = 1.0;
};
/// An all-gather of `whole` bytes in flat rings; a node has a network port for each chip.
Seconds flat_ring(const TwoLevels& levels, Bytes whole);
/// An all-reduce whose outer level reduces in the network.
Seconds sharp_network(const TwoLevels& levels, Bytes whole);
/// An all-to-all without a spine: data goes to the chip of its rail first.
Seconds rail_only_all_to_all(const TwoLevels& levels, Bytes held);

/// Shares of links that NCCL reaches on a generation of chips in one NVLink domain.
struct NcclShares {
  std::string_view chip;
  double ll, ll128, simple;  ///< shares of the link
  double of_two, of_four;    ///< factors on `simple` and `all_to_all`: 2 members, 3 or 4 members
  double all_to_all;         ///< replaces `simple` for an all-to-all
  double slow;               ///< factor on latencies
  double nvls;               ///< share when the switch reduces; 0: it does not reduce
  Seconds nvls_start;
  BytesPerSecond link;
};
/// The shares of a chip, `a100`, `h100` or `b200`; null for any other.
const NcclShares* nccl_shares(std::string_view chip);
/// The time of an operation of `n` members on `bytes`; in an all-to-all, each member sends `bytes`.
Seconds nccl_time(const NcclShares& shares, Kind kind, double n, Bytes bytes);

/// Returns a lower bound on a gather of `whole` bytes among `members` chips on these axes.
Seconds gather_bound(std::span<const Axis> axes, Bytes whole, double members);

}  // namespace dfsearch::collective
