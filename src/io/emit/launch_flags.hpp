#pragma once
// Arguments of frameworks that train which have one value of a plan each: what is written of a
// result is read from the same rows.

#include <array>
#include <string_view>
#include <utility>

#include "model/framework.hpp"

namespace dfsearch {

/// `key` is the way to a count in a result (docs/results.md).  Flags of torchtitan are keys of a
/// section of its TOML.
struct FlagRow {
  Framework framework;
  std::string_view flag;
  std::string_view key;
};
inline constexpr FlagRow kFlagRows[] = {
    {Framework::Megatron, "--tensor-model-parallel-size", "parallelism.tensor"},
    {Framework::Megatron, "--context-parallel-size", "parallelism.context"},
    {Framework::Megatron, "--pipeline-model-parallel-size", "parallelism.pipeline"},
    {Framework::Megatron, "--micro-batch-size", "micro_batch"},
    {Framework::Megatron, "--global-batch-size", "workload.global_batch"},
    {Framework::Megatron, "--seq-length", "workload.sequence"},
    {Framework::Torchtitan, "training.global_batch_size", "workload.global_batch"},
    {Framework::Torchtitan, "training.seq_len", "workload.sequence"},
    {Framework::Torchtitan, "parallelism.tensor_parallel_degree", "parallelism.tensor"},
    {Framework::Torchtitan, "parallelism.context_parallel_degree", "parallelism.context"},
    {Framework::Torchtitan, "parallelism.expert_parallel_degree", "parallelism.expert"},
    {Framework::Torchtitan, "parallelism.pipeline_parallel_degree", "parallelism.pipeline"}};

/// Flag of Megatron-LM, which then numbers stages inside replicas (model/training/framework.hpp).
inline constexpr std::string_view kStagesInsideFlag = "--use-tp-pp-dp-mapping";

/// Flag of Megatron-LM that takes several words.
inline constexpr std::string_view kModulesFlag = "--recompute-modules";

/// Words of a framework and words of a plan.
using WordPair = std::pair<std::string_view, std::string_view>;
inline constexpr std::array<WordPair, 3> kTorchtitanSchedules = {
    {{"1F1B", "1f1b"}, {"Interleaved1F1B", "interleaved"}, {"GPipe", "gpipe"}}};
/// ZeRO 2 and 3 of Megatron FSDP.
inline constexpr std::array<WordPair, 2> kShardingStrategies = {
    {{"optim_grads", "2"}, {"optim_grads_params", "3"}}};

}  // namespace dfsearch
