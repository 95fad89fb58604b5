#pragma once
// The costs of the partitions of a mapping for one layer and one sample (docs/model.md, section 6),
// and of its stages where they divide the graph (section 13).

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "model/clock.hpp"
#include "model/evaluate.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {

/// The kernels of one partition and the tensors that touch it, each list in the order of
/// the graph's.
struct PartitionMembers {
  std::int64_t index = 0;
  std::vector<KernelId> kernels;
  std::vector<TensorId> tensors;  ///< tensors whose producer or consumer is in the partition
};

/// The partitions that contain a kernel, by ascending index.  Takes time linear in the kernels
/// and tensors, for any indices.
std::vector<PartitionMembers> members_of_partitions(const DataflowGraph& graph,
                                                    const std::vector<std::int64_t>& partition);

/// The times of a partition.  Each is at most kNever, so that no sum overflows.
struct PartitionParts {
  Ticks compute = 0;  ///< the time of the cores, or of the slowest on-chip level if it is longer
  Ticks traffic = 0;  ///< to and from memory
  Ticks network = 0;
  Ticks weight_loads = 0;
  Ticks reloads = 0;  ///< weights that steps read again, in addition to `traffic`
  Ticks memory_latency = 0;
  Ticks step_latency = 0;                    ///< latency in `traffic`
  Bottleneck on_chip = Bottleneck::Compute;  ///< the resource with the time `compute`

  /// docs/model.md (33)
  [[nodiscard]] Ticks memory() const {
    const Ticks all = capped_sum(traffic, reloads);
    return all > 0 ? capped_sum(all, memory_latency) : 0;
  }
  [[nodiscard]] Ticks waiting() const {
    return capped_sum(step_latency, memory() > 0 ? memory_latency : 0);
  }
  /// docs/model.md (38)
  [[nodiscard]] Ticks time(Overlap overlap) const {
    return std::min(kNever, overlapped(overlap, compute, memory(), network) + weight_loads);
  }
};

/// Costs one partition after the other, and allocates cores where the mapping gives none.
/// Keeps references to its arguments.
class PartitionEvaluator {
 public:
  PartitionEvaluator(const Problem& problem, const LayerCosts& costs, const Mapping& mapping);

  struct Result {
    PartitionCost cost;
    Ticks ticks = 0;
    ChargedTime charged;
  };

  std::variant<Result, Infeasible> evaluate(const PartitionMembers& members);

  /// All times but the transfers of tensors that cross the border of the partition, so they do not
  /// depend on other partitions.  Includes the loads of weights even if the stage loads none.  Sets
  /// the SRAM of the partition.
  std::variant<PartitionParts, Infeasible> own_parts(const PartitionMembers& members,
                                                     PartitionCost& cost);

  /// Per kernel, once all partitions are evaluated.
  [[nodiscard]] const std::vector<CoreGrid>& grids() const { return grids_; }

 private:
  /// The ends of a tensor that are in the partition.
  struct Ends {
    bool produced = false;
    bool consumed = false;
  };
  [[nodiscard]] Ends ends_in(TensorId tensor, std::int64_t index) const;

  [[nodiscard]] bool keeps_weight(KernelId kernel, std::int64_t index) const;
  [[nodiscard]] bool crosses_stages(TensorId tensor) const;

  [[nodiscard]] std::optional<Infeasible> check_repeat(const std::vector<KernelId>& kernels,
                                                       const std::string& where) const;
  [[nodiscard]] std::optional<Infeasible> check_sram(const PartitionMembers& members,
                                                     PartitionCost& cost,
                                                     const std::string& where) const;
  std::variant<Ticks, Infeasible> compute_ticks(const std::vector<KernelId>& kernels,
                                                const std::string& where);
  void add_dataflows(PartitionCost& cost) const;
  void allocate_cores(const std::vector<KernelId>& kernels);

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LayerCosts& costs_;
  const Mapping& mapping_;
  std::vector<CoreGrid> grids_;
  std::vector<bool> loads_;  // per stage: whether weights are read from memory
};

struct StageCosts {
  std::vector<StageCost> stages;
  std::vector<Ticks> times;  ///< the time of each stage for a sample
  Ticks sum = 0;             ///< the sum of `times`
  std::size_t slowest = 0;   ///< the first stage with the greatest time
  std::size_t fullest = 0;   ///< the first stage that needs most memory
};

/// `partitions` belong to the mapping, which keeps the rules of mapping_rules.hpp, and `ticks` are
/// their times.
StageCosts stage_costs(const Problem& problem, const Mapping& mapping, const LayerCosts& costs,
                       const std::vector<PartitionMembers>& partitions,
                       const std::vector<Ticks>& ticks);

}  // namespace dfsearch
