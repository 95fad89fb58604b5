#pragma once
// The config rows of a problem beside its workload and its machine: the sections `equations` and
// `execution`, and the words of their switches.

#include "model/names.hpp"
#include "model/problem.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

constexpr auto words(Style) {
  return named<Style>({{"dataflow", Style::Dataflow}, {"kernel_by_kernel", Style::KernelByKernel}});
}
constexpr auto words(Stages) {
  return named<Stages>({{"layers", Stages::Layers}, {"graph", Stages::Graph}});
}
constexpr auto words(Overlap) {
  return named<Overlap>({{"perfect", Overlap::Perfect},
                         {"none", Overlap::None},
                         {"compute_memory", Overlap::ComputeMemory}});
}
constexpr auto words(ShardingChoice) {
  return named<ShardingChoice>(
      {{"least_bytes", ShardingChoice::LeastBytes}, {"joint", ShardingChoice::Joint}});
}

constexpr auto words(SplitPhases) {
  return named<SplitPhases>({{"separate", SplitPhases::Separate}, {"halves", SplitPhases::Halves}});
}
constexpr auto words(VirtualStages) {
  return named<VirtualStages>(
      {{"layers", VirtualStages::Layers}, {"layers_minus_one", VirtualStages::LayersMinusOne}});
}
constexpr auto words(ConversionBytes) {
  return named<ConversionBytes>(
      {{"full", ConversionBytes::Full}, {"shard", ConversionBytes::Shard}});
}
constexpr auto words(WeightTraffic) {
  return named<WeightTraffic>({{"per_step", WeightTraffic::PerStep},
                               {"resident", WeightTraffic::Resident},
                               {"per_sample", WeightTraffic::PerSample}});
}
constexpr auto words(Shards) {
  return named<Shards>({{"whole", Shards::Whole}, {"even", Shards::Even}});
}
constexpr auto words(LayerSeams) {
  return named<LayerSeams>({{"charged", LayerSeams::Charged}, {"free", LayerSeams::Free}});
}
constexpr auto words(Shapes) {
  return named<Shapes>({{"checked", Shapes::Checked}, {"unchecked", Shapes::Unchecked}});
}
constexpr auto words(AllToAllTime) {
  return named<AllToAllTime>(
      {{"per_dimension", AllToAllTime::PerDimension}, {"bisection", AllToAllTime::Bisection}});
}
constexpr auto words(PairCount) {
  return named<PairCount>({{"n2_2", PairCount::HalfSquare},
                           {"n2_4", PairCount::QuarterSquare},
                           {"n_n1_2", PairCount::AllPairs},
                           {"auto", PairCount::Auto}});
}
constexpr auto words(LatencyRule) {
  return named<LatencyRule>(
      {{"hops", LatencyRule::Hops}, {"all_reduces", LatencyRule::AllReduces}});
}
constexpr auto words(LinkCount) {
  return named<LinkCount>({{"per_chip", LinkCount::PerChip}, {"per_group", LinkCount::PerGroup}});
}
constexpr auto words(PipelineTime) {
  return named<PipelineTime>(
      {{"schedule", PipelineTime::Schedule}, {"bubble", PipelineTime::Bubble}});
}
constexpr auto words(LoneKernels) {
  return named<LoneKernels>({{"streamed", LoneKernels::Streamed}, {"whole", LoneKernels::Whole}});
}
constexpr auto words(WeightPieces) {
  return named<WeightPieces>({{"free", WeightPieces::Free},
                              {"reread", WeightPieces::Reread},
                              {"published", WeightPieces::Published}});
}
constexpr auto words(GridSides) {
  return named<GridSides>({{"members", GridSides::Members}, {"all", GridSides::All}});
}
constexpr auto words(SpilledTime) {
  return named<SpilledTime>({{"sum", SpilledTime::Sum}, {"mean", SpilledTime::Mean}});
}

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
