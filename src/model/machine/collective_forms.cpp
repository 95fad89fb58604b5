// Bucket algorithms that split their data over orders of the axes (Chan et al., "Collective
// communication: theory, practice, and experience", 2007), in both directions of a ring.
//
// S bytes are gathered on N chips.  In an order, axis i, which comes after the set A of axes,
// carries f(A + i) - f(A) parts of S / N bytes; f(A) is the product of the degrees of A, less one.
// f is supermodular, so the loads of mixtures of orders are the core of f, and the least possible
// maximum of load over bandwidth is the greatest f(T) / into(T) over all sets T of axes
// (docs/collectives.md, proof of (2)).  Tested against mixtures of orders:
// tests/model/machine/collective_forms_test.cpp.

#include "model/machine/collective_forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace dfsearch::collective {
namespace {

// The most axes whose sets are enumerated; further, outer axes take turns.
constexpr std::size_t kMostAtOnce = 16;

double members_of(std::span<const Axis> axes) {
  double members = 1.0;
  for (const Axis& axis : axes) members *= axis.n;
  return members;
}

/// Whether the members of an axis stand in a line, as in a ring of two, which has one link.
bool is_line(const Axis& axis) {
  return axis.topology == Topology::Line || (axis.topology == Topology::Ring && axis.n <= 2.0);
}

}  // namespace

// docs/collectives.md (1)
BytesPerSecond into(const Axis& axis) {
  return is_line(axis) ? axis.link : row_of(axis.topology).chip_ports(axis.n) * axis.link;
}

// docs/collectives.md (2)
Seconds gather_at_once(std::span<const Axis> axes, Bytes whole) {
  const std::size_t inner = std::min(axes.size(), kMostAtOnce);
  const double members = members_of(axes.first(inner));
  double greatest = 0.0;  // of (parts) / (bytes a second)
  for (std::size_t set = 1; set < (std::size_t{1} << inner); ++set) {
    double degrees = 1.0;
    BytesPerSecond in{};
    for (std::size_t i = 0; i < inner; ++i) {
      if ((set >> i & 1U) == 0) continue;
      degrees *= axes[i].n;
      in += into(axes[i]);
    }
    greatest = std::max(greatest, (degrees - 1.0) / in.in_base_units());
  }
  const Seconds time = Seconds(whole.in_base_units() * greatest / members);
  if (inner == axes.size()) return time;
  return time + gather_in_turn(axes.subspan(inner), whole / members);
}

// docs/collectives.md (2)
Seconds gather_in_turn(std::span<const Axis> axes, Bytes whole) {
  Seconds time{};
  double inside = 1.0;
  for (const Axis& axis : axes) {
    time += whole / inside * ((axis.n - 1.0) / axis.n) / into(axis);
    inside *= axis.n;
  }
  return time;
}

// docs/collectives.md (3)
Seconds all_reduce(std::span<const Axis> axes, Bytes whole) {
  if (axes.size() == 1 && axes[0].reduces && axes[0].n > 1.0) {
    return whole * ((axes[0].n + 1.0) / axes[0].n) / into(axes[0]);
  }
  return 2.0 * gather_at_once(axes, whole);
}

// docs/collectives.md (4)
Seconds all_to_all(std::span<const Axis> axes, Bytes held) {
  Seconds slowest{};
  for (const Axis& axis : axes) {
    const double n = axis.n;
    if (n <= 1.0) continue;
    double share = row_of(axis.topology).exchanged(n);
    // The published share of a ring, n / 8, is the limit for large rings.
    if (axis.topology == Topology::Ring) share = std::floor(n * n / 4.0) / (2.0 * n);
    if (is_line(axis)) share = row_of(Topology::Line).exchanged(n);
    if (axis.taper > 1.0) share = std::max(share, (n - axis.group) / n * axis.taper);
    slowest = std::max(slowest, held * share / axis.link);
  }
  return slowest;
}

// docs/collectives.md (6)
Seconds broadcast(std::span<const Axis> axes, Bytes whole) {
  if (axes.size() == 1 && axes[0].topology == Topology::FullyConnected) {
    return whole * std::min(1.0, 2.0 / axes[0].n) / axes[0].link;
  }
  BytesPerSecond in{};
  for (const Axis& axis : axes) in += into(axis);
  return axes.empty() ? Seconds{} : whole / in;
}

// docs/collectives.md (5)
Seconds latency(std::span<const Axis> axes, Kind kind) {
  Seconds sum{};
  for (const Axis& axis : axes) sum += row_of(axis.topology).exchange_hops(axis.n) * axis.alpha;
  return kind == Kind::AllReduce ? 2.0 * sum : sum;
}

// docs/collectives.md (10)
Seconds flat_ring(const TwoLevels& levels, Bytes whole) {
  const double n = levels.n_in * levels.n_out;
  const Bytes wire = whole * ((n - 1.0) / n);
  const Seconds inside = wire / (levels.share_in * levels.inside);
  // The rings through all chips of a node use all network ports of the node.
  const Seconds outside = wire / (levels.n_in * levels.share_out * levels.outside);
  return levels.n_out > 1.0 ? std::max(inside, outside) : inside;
}

// docs/collectives.md (11)
Seconds sharp_network(const TwoLevels& levels, Bytes whole) {
  const double n = levels.n_in;
  const Seconds gather = whole * ((n - 1.0) / n) / (levels.share_in * levels.inside);
  return std::max(2.0 * gather, whole / n / (levels.share_out * levels.outside));
}

// docs/collectives.md (12)
Seconds rail_only_all_to_all(const TwoLevels& levels, Bytes held) {
  const double all = levels.n_in * levels.n_out;
  return std::max(held * ((levels.n_in - 1.0) / levels.n_in) / levels.inside,
                  held * ((all - levels.n_in) / all) / levels.outside);
}

// docs/collectives.md (9)
const NcclShares* nccl_shares(std::string_view chip) {
  constexpr double kMicro = 1e-6;
  static constexpr std::array kShares = {NcclShares{"a100", .21, .58, .70, .53, .62, .66, 1.5, 0.0,
                                                    Seconds(0.0), BytesPerSecond(300e9)},
                                         NcclShares{"h100", .33, .59, .75, .54, .93, .68, 1.0, .64,
                                                    Seconds(56 * kMicro), BytesPerSecond(450e9)},
                                         NcclShares{"b200", .28, .37, .74, .67, .92, .60, 1.5, .51,
                                                    Seconds(58 * kMicro), BytesPerSecond(900e9)}};
  const auto* const found = std::find_if(kShares.begin(), kShares.end(),
                                         [&](const NcclShares& each) { return each.chip == chip; });
  return found == kShares.end() ? nullptr : found;
}

namespace {

/// Latencies of a protocol in microseconds, from nccl @5067397c, src/graph/tuning.cc.
struct Protocol {
  double base, hop;
};
constexpr Protocol kLl{6.6, 0.6}, kLl128{14.0, 1.9}, kSimple{8.4, 3.4};

}  // namespace

// docs/collectives.md (7), (8)
Seconds nccl_time(const NcclShares& shares, Kind kind, double n, Bytes bytes) {
  const bool reduces = kind == Kind::AllReduce;
  const bool exchanges = kind == Kind::AllToAll;
  const double steps = exchanges ? 1.0 : reduces ? 2.0 * (n - 1.0) : n - 1.0;
  const Bytes wire = bytes * ((reduces ? 2.0 : 1.0) * (n - 1.0) / n);
  const double members = n <= 2.0 ? shares.of_two : n <= 4.0 ? shares.of_four : 1.0;
  const auto time = [&](const Protocol& protocol, double share) {
    return shares.slow * Seconds((protocol.base + steps * protocol.hop) * 1e-6) +
           wire / (share * shares.link);
  };
  const double simple = exchanges ? shares.all_to_all : shares.simple;
  Seconds least =
      std::min({time(kLl, shares.ll), time(kLl128, shares.ll128), time(kSimple, simple * members)});
  if (reduces && shares.nvls > 0.0 && n > 4.0) {
    least =
        std::min(least, shares.nvls_start + bytes * ((n + 1.0) / n) / (shares.nvls * shares.link));
  }
  return least;
}

// docs/collectives.md (13)
Seconds gather_bound(std::span<const Axis> axes, Bytes whole, double members) {
  BytesPerSecond in{};
  for (const Axis& axis : axes) in += into(axis);
  return axes.empty() || members <= 1.0 ? Seconds{} : whole * ((members - 1.0) / members) / in;
}

}  // namespace dfsearch::collective
