#include "model/training/fused_summary.hpp"

#include <array>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "model/training/layout_shelf.hpp"

namespace dfsearch::training {

const char* name_of(Part part, const Transformer& model) {
  const std::array names = {"layer", model.alternates() ? "full_layer" : "expert_layer", "first",
                            "last"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<FusedSummary> fused_summary(const Task& task, const Plan& plan,
                                        const Fusions& fusions) {
  std::vector<FusedSummary> parts;
  if (task.style == Style::KernelByKernel) return parts;
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  for (const Part part : kParts) {
    if (!blocks[part]) continue;
    const FusedPart whole =
        fused_part(task, *blocks[part], shelf.layouts(part, plan.degrees, plan.layout),
                   plan.degrees, plan.micro_batch);
    for (const FusedKind kind : kFusedKinds) {
      const FusedPass& pass = whole.passes[static_cast<std::size_t>(kind)];
      if (pass.is_empty() || !has(plan.schedule, kind)) continue;
      const std::optional<Mapping>& mapping =
          fusions[static_cast<std::size_t>(part)][static_cast<std::size_t>(kind)];
      FusedSummary summary{
          .part = name_of(part, task.model), .kind = kind, .time = one_by_one(whole, kind).time};
      if (!mapping) {
        parts.push_back(std::move(summary));
        continue;
      }
      const auto verdict = dfsearch::evaluate(pass.problem, *mapping);
      const auto* cost = std::get_if<dfsearch::Cost>(&verdict);
      if (cost == nullptr) throw InternalError("the fusion of a plan does not fit");
      summary.time = cost->layer_time * whole.samples;
      summary.tile = mapping->tile;
      for (const PartitionCost& partition : cost->partitions) {
        FusedSummary::Partition said{.kernels = {},
                                     .time = partition.time * whole.samples,
                                     .bound_by = partition.bound_by,
                                     .sram = partition.sram};
        for (const KernelId k : partition.kernels) {
          said.kernels.push_back(pass.problem.workload.graph.kernel(k).name);
        }
        summary.partitions.push_back(std::move(said));
      }
      parts.push_back(std::move(summary));
    }
  }
  return parts;
}

}  // namespace dfsearch::training
