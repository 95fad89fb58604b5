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

  /// The chips of a group (Communication::group), each dimension by the part that they fill; places
  /// beyond the machine are left out.
  [[nodiscard]] Collectives group(const std::vector<std::int64_t>& counts) const;

  /// The time in which every chip sends every other `pair` bytes.
  [[nodiscard]] Seconds all_to_all(Bytes pair) const;
  /// The time of bytes / X to all chips along side Y; over a link of dimension 1, and nothing
  /// if X is 1, where all dimensions span the grid.
  [[nodiscard]] Seconds grid_broadcast(Bytes bytes) const;
  /// The time of bytes / Y to a chip along side X; over a link of dimension 0, and nothing if
  /// Y is 1, where all dimensions span the grid.
  [[nodiscard]] Seconds grid_point_to_point(Bytes bytes) const;

 private:
  ChipGrid grid_;
  GridSides sides_;
  std::vector<BytesPerSecond> links_;  // of every dimension
  Collectives all_;
  AllToAllTime time_;
  PairCount pair_count_;
  bool pays_hops_;
};

}  // namespace dfsearch
