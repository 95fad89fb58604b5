#pragma once
// The flags of a launch script or of a TOML file, as text with places, and rows for reading and
// writing the arguments of training frameworks that have one value of a plan each.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "io/text/input_messages.hpp"
#include "model/framework.hpp"

namespace dfsearch {

struct FlagValue {
  std::string value;
  Place place;
};
/// Values by flag; torchtitan's by "section.key".
using Flags = std::map<std::string, FlagValue>;

/// The flags of one file; a flag that is set to two values is a mistake.
class FlagList {
 public:
  explicit FlagList(const std::string& source)
      : source_(std::make_shared<const std::string>(source)) {}

  void add(const std::string& flag, FlagValue value);
  [[nodiscard]] Place at(int line, int column) const { return {source_, line, column}; }

  Flags flags;
  InputMessages messages;

 private:
  std::shared_ptr<const std::string> source_;
};

/// Whether a text has options of a command, in a shell script or not, or is TOML of torchtitan.
bool are_launch_arguments(const std::string& text);

/// Adds the flags of a shell script, its variables expanded, or the keys of a TOML file.
void read_flags(const std::string& text, FlagList& list);

/// `key` is the path of a count in a result (docs/results.md).  Flags of torchtitan are keys of a
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

/// A word of a framework, and the word of a plan for it.
using WordPair = std::pair<std::string_view, std::string_view>;
inline constexpr std::array<WordPair, 3> kTorchtitanSchedules = {
    {{"1F1B", "1f1b"}, {"Interleaved1F1B", "interleaved"}, {"GPipe", "gpipe"}}};
/// Sharding strategies of Megatron FSDP for ZeRO 2 and 3.
inline constexpr std::array<WordPair, 2> kShardingStrategies = {
    {{"optim_grads", "2"}, {"optim_grads_params", "3"}}};

}  // namespace dfsearch
