#pragma once
// The config rows of a problem beside its workload and its machine: the sections `equations` and
// `execution`, and the words of their switches.

#include "model/problem.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

constexpr auto words(Style) { return named<Style>("dataflow", "kernel_by_kernel"); }
constexpr auto words(Stages) { return named<Stages>("layers", "graph"); }
constexpr auto words(Overlap) { return named<Overlap>("perfect", "none", "compute_memory"); }
constexpr auto words(ShardingChoice) { return named<ShardingChoice>("least_bytes", "joint"); }

constexpr auto words(SplitPhases) { return named<SplitPhases>("separate", "halves"); }
constexpr auto words(VirtualStages) { return named<VirtualStages>("layers", "layers_minus_one"); }
constexpr auto words(ConversionBytes) { return named<ConversionBytes>("full", "shard"); }
constexpr auto words(WeightTraffic) {
  return named<WeightTraffic>({{"per_step", WeightTraffic::PerStep},
                               {"resident", WeightTraffic::Resident},
                               {"per_sample", WeightTraffic::PerSample}});
}
constexpr auto words(Shards) { return named<Shards>("whole", "even"); }
constexpr auto words(LayerSeams) { return named<LayerSeams>("charged", "free"); }
constexpr auto words(Shapes) { return named<Shapes>("checked", "unchecked"); }
constexpr auto words(AllToAllTime) { return named<AllToAllTime>("per_dimension", "bisection"); }
constexpr auto words(PairCount) { return named<PairCount>("n2_2", "n2_4", "n_n1_2", "auto"); }
constexpr auto words(LatencyRule) { return named<LatencyRule>("hops", "all_reduces"); }
constexpr auto words(LinkCount) { return named<LinkCount>("per_chip", "per_group"); }
constexpr auto words(PipelineTime) { return named<PipelineTime>("schedule", "bubble"); }
constexpr auto words(LoneKernels) { return named<LoneKernels>("streamed", "whole"); }
constexpr auto words(WeightPieces) { return named<WeightPieces>("free", "reread", "published"); }
constexpr auto words(GridSides) { return named<GridSides>("members", "all"); }
constexpr auto words(SpilledTime) { return named<SpilledTime>("sum", "mean"); }
constexpr auto words(OutOfCore) { return named<OutOfCore>("charged", "free"); }
constexpr auto words(ArrayLoads) { return named<ArrayLoads>("charged", "free"); }
constexpr auto words(GatherOrder) { return named<GatherOrder>("tori", "in_turn", "at_once"); }

const Schema& schema_of(Rows<Equations>);
const Schema& schema_of(Rows<Execution>);

template <>
struct TypeOf<DegreeChoice> {
  static constexpr Type type{
      .form = Form::Range,
      .put_set =
          [](void* member, CountSet set) {
            *static_cast<DegreeChoice*>(member) = {
                .values = std::move(set.values), .least = set.least, .most = set.most};
          },
      .get_set =
          [](const void* member) {
            const auto& [values, least, most] = *static_cast<const DegreeChoice*>(member);
            return CountSet{.values = values, .least = least, .most = most};
          }};
};

}  // namespace dfsearch
