#pragma once
// Communication over the whole machine rather than among the chips of one strategy: the all-to-all
// of DLRM and FFT, the grid of HPL (docs/model.md, section 5).

#include <vector>

#include "model/layer/shard.hpp"
#include "model/machine/collectives.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The times of communication over all dimensions of the network, for any strategies that they
/// serve.  Immutable.
class MachineNetwork {
 public:
  /// `network` gives degrees, `system` topologies and bandwidths.
  MachineNetwork(const Machine& system, const std::vector<Mapping::Dimension>& network,
                 const Equations& equations, int tensor_axes = 1);

  [[nodiscard]] const ChipGrid& grid() const { return grid_; }

  /// The network of a group of chips (Communication::group): each dimension has the degree that the
  /// group fills.  Places beyond the machine are left out.
  [[nodiscard]] Collectives group(const std::vector<std::int64_t>& counts) const;

  /// The time in which every chip sends every other `pair` bytes.
  [[nodiscard]] Seconds all_to_all(Bytes pair) const;
  /// The time to send bytes / X to all chips along side Y.  If all dimensions span the grid
  /// (GridSides::All), messages take a link of dimension 1, and X = 1 costs nothing.
  [[nodiscard]] Seconds grid_broadcast(Bytes bytes) const;
  /// The time to send bytes / Y to a chip along side X.  If all dimensions span the grid
  /// (GridSides::All), messages take a link of dimension 0, and Y = 1 costs nothing.
  [[nodiscard]] Seconds grid_point_to_point(Bytes bytes) const;

 private:
  ChipGrid grid_;
  GridSides sides_;
  std::vector<BytesPerSecond> links_;  // bandwidth of a link of every dimension
  Collectives all_;
  AllToAllTime time_;
  PairCount pair_count_;
  bool pays_hops_;
};

}  // namespace dfsearch
