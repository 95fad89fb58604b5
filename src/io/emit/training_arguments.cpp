// Plans of training as arguments of Megatron-LM (core 0.13: megatron/training/arguments.py),
// torchtitan (torchtitan/config/job_config.py) and DeepSpeed (its JSON configuration).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "io/emit/emitted.hpp"
#include "io/emit/launch_flags.hpp"
#include "model/training/names.hpp"
#include "model/training/rank_order.hpp"

namespace dfsearch {
namespace {

struct LaunchedPlan {
  const Json& result;
  std::int64_t tensor, context, expert, pipeline, data;  // `data`: all replicas, of experts too
  std::int64_t micro_batch, micro_batches, global_batch, zero, chunks;
  std::string layout, recompute, schedule;
  std::vector<std::int64_t> layers;  ///< of each stage
  std::vector<std::string> offload;

  [[nodiscard]] bool is_even() const {
    return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end();
  }
  [[nodiscard]] bool offloads(const std::string& what) const {
    return std::find(offload.begin(), offload.end(), what) != offload.end();
  }
};

LaunchedPlan plan_of(const Json& result) {
  const Json &degrees = result.at("parallelism"), &plan = result.at("plan");
  return {.result = result,
          .tensor = degrees.at("tensor"),
          .context = degrees.at("context"),
          .expert = degrees.at("expert"),
          .pipeline = degrees.at("pipeline"),
          .data = degrees.at("data"),
          .micro_batch = result.at("micro_batch"),
          .micro_batches = result.at("micro_batches"),
          .global_batch = result.at("workload").at("global_batch"),
          .zero = plan.at("zero"),
          .chunks = plan.at("chunks"),
          .layout = plan.at("layout"),
          .recompute = plan.at("recompute"),
          .schedule = plan.at("schedule"),
          .layers = plan.at("layers"),
          .offload = plan.at("offload")};
}

/// Flags that have one count of the result each, in the order of their rows.
std::vector<std::pair<std::string, std::int64_t>> counts_of(const LaunchedPlan& plan,
                                                            Framework framework) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const FlagRow& row : kFlagRows) {
    if (row.framework != framework) continue;
    std::string way = "/" + std::string(row.key);
    std::replace(way.begin(), way.end(), '.', '/');
    counts.emplace_back(row.flag, plan.result.at(Json::json_pointer(way)));
  }
  return counts;
}

/// "Et*2|t*3|t*2L": layers of each stage, the embedding before and the loss behind them.
std::string stages_text(const LaunchedPlan& plan) {
  std::string text = "E";
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    if (i > 0) text += "|";
    if (plan.layers[i] > 0) text += fmt::format("t*{}", plan.layers[i]);
  }
  return text + "L";
}

void check_layout(const LaunchedPlan& plan, Emitted& emitted) {
  if (plan.layout.starts_with("front")) {
    emitted.lack("the layout of tensors, " + plan.layout +
                 ", is none that libraries have; search with a stack for one that is");
  }
}

std::vector<training::Division> network_of(const Json& result) {
  std::vector<training::Division> network;
  for (const Json& dimension : result.at("network")) {
    training::Division& division = network.emplace_back();
    for (const training::Role role : training::kRoles) {
      division[role] = dimension.value(training::name_of(role), std::int64_t{1});
    }
    // Which order is no matter: ranks of a mesh are placed by its user.
    if (dimension.contains("order")) division.order = {training::Role::Tensor};
  }
  return network;
}

/// "tensor 4 x data 2, then data 128": the innermost dimension first.
std::string placement_text(const std::vector<training::Division>& network) {
  std::string text;
  for (const training::Division& division : network) {
    std::string inside;
    for (const training::Role role : training::kRoles) {
      if (division[role] == 1) continue;
      inside += fmt::format("{}{} {}", inside.empty() ? "" : " x ", training::name_of(role),
                            division[role]);
    }
    if (!inside.empty()) text += (text.empty() ? "" : ", then ") + inside;
  }
  return text;
}

/// Whether the usual order of ranks is to be used; says where no order of the framework has them as
/// they are in the network of the plan.
bool check_order(const LaunchedPlan& plan, Framework framework, Emitted& emitted) {
  const std::vector<training::Division> network = network_of(plan.result);
  if (training::can_number(framework, network)) {
    return training::is_numbered_so(network, training::kUsualOrder);
  }
  emitted.lack("ranks are numbered tensor, context, data, pipeline; the step was timed with " +
               placement_text(network) + ", the innermost dimension first");
  return true;
}

/// How context ranks come to the keys and values of all tokens, as Transformer Engine calls it.
/// With a stack they go around a ring, of which a result has no exchanges (docs/truth.md).
std::string context_exchange(const LaunchedPlan& plan) {
  const Json& work = plan.result.at("work");
  if (!work.is_object()) return "p2p";
  bool is_ring = false;
  for (const Json& part : work.at("parts")) {
    for (const Json& each : part.at("exchanges")) {
      if (each.at("role") != "context") continue;
      if (each.at("exchange") == "all_to_all") return "a2a";
      is_ring = is_ring || each.at("beside").get<bool>();
    }
  }
  return is_ring ? "p2p" : "all_gather";
}

/// `torchrun` with the processes of a node, which are the chips of the innermost dimension, if the
/// machine is made of such.
std::string torchrun(const LaunchedPlan& plan, Emitted& emitted) {
  const Json& machine = plan.result.at("machine");
  const Json& network = machine.at("network");
  const std::int64_t chips = machine.at("chips");
  constexpr std::int64_t kMostOfNode = 16;
  std::int64_t node = 1;
  if (!network.empty()) node = network[0].at("degree");
  const std::string topology = network.empty() ? "" : network[0].at("topology");
  const bool is_grid = topology == "mesh" || topology == "torus2d";
  if (is_grid || node > kMostOfNode || chips % node != 0) {
    emitted.lack(fmt::format(
        "give torchrun the --nnodes and --nproc_per_node of your machine: {} processes in all",
        chips));
    return "torchrun";
  }
  return fmt::format("torchrun --nnodes {} --nproc_per_node {}", chips / node, node);
}

/// That of linear layers, by the name of its recipe; empty where the plan rests on none.
std::string precision_of(const LaunchedPlan& plan) {
  const Json& workload = plan.result.at("workload");
  if (!workload.contains("precision") || !workload["precision"].is_string()) return "";
  return workload["precision"];
}

/// Flags of Megatron by precision: products of 8 bits go on top of words of two bytes.
void add_precision(const LaunchedPlan& plan, Emitted& emitted) {
  constexpr std::pair<std::string_view, std::string_view> kRecipes[] = {
      {"fp8", "delayed"}, {"fp8-cs", "tensorwise"}, {"fp8-mx", "blockwise"}, {"mxfp8", "mxfp8"}};
  const std::string precision = precision_of(plan);
  if (precision.empty()) return;
  emitted.add(precision == "fp16" ? "--fp16" : "--bf16");
  for (const auto& [ours, theirs] : kRecipes) {
    if (precision != ours) continue;
    emitted.add("--fp8-format", std::string("hybrid"));
    emitted.add("--fp8-recipe", std::string(theirs));
  }
  if (precision == "nvfp4") emitted.lack("linear layers in nvfp4, which these arguments lack");
}

/// Where products of less than two bytes are not said.
void check_precision(const LaunchedPlan& plan, Emitted& emitted) {
  const std::string precision = precision_of(plan);
  if (precision.empty() || precision == "bf16" || precision == "fp16") return;
  emitted.lack("linear layers are in " + precision + ": the step was timed with that");
}

std::string megatron(const LaunchedPlan& plan) {
  Emitted emitted;
  check_layout(plan, emitted);
  add_precision(plan, emitted);
  const bool whole = plan.layout == "whole_experts";
  for (const auto& [flag, value] : counts_of(plan, Framework::Megatron)) emitted.add(flag, value);
  if (plan.tensor > 1 && plan.layout != "least_sent") emitted.add("--sequence-parallel");
  if (plan.context > 1) emitted.add("--cp-comm-type", context_exchange(plan));
  if (plan.expert > 1 || whole) {
    emitted.add("--expert-model-parallel-size", whole ? plan.expert * plan.tensor : plan.expert);
    emitted.add("--expert-tensor-parallel-size", whole ? std::int64_t{1} : plan.tensor);
    emitted.add("--moe-token-dispatcher-type", std::string("alltoall"));
  }
  if (plan.chunks > 1) {
    emitted.add("--num-virtual-stages-per-pipeline-rank", plan.chunks);
    if (!plan.is_even()) emitted.lack("stages of different sizes are not interleaved");
  } else if (!plan.is_even()) {
    emitted.add("--pipeline-model-parallel-layout", stages_text(plan));
  }
  if (plan.schedule != "1f1b" && plan.schedule != "interleaved") {
    emitted.lack("the schedule " + plan.schedule + " is not there; 1f1b runs instead");
  }
  if (plan.recompute == "full") {
    emitted.add("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  } else if (plan.recompute != "none") {
    emitted.add("--recompute-granularity selective");
  }
  if (plan.zero == 1) {
    emitted.add("--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather");
  } else if (plan.zero > 1) {
    emitted.add("--use-megatron-fsdp --ckpt-format fsdp_dtensor --use-distributed-optimizer");
    emitted.add("--data-parallel-sharding-strategy",
                std::string(kShardingStrategies[plan.zero == 2 ? 0 : 1].first));
  }
  if (plan.offloads("optimizer")) {
    emitted.add("--optimizer-cpu-offload --optimizer-offload-fraction 1.0");
  }
  if (plan.offloads("activations")) {
    emitted.add("--cpu-offloading-num-layers", plan.layers.front());
  }
  if (plan.offloads("weights")) emitted.lack("weights stay on the chip");
  if (!check_order(plan, Framework::Megatron, emitted)) emitted.add(std::string(kStagesInsideFlag));
  // Its arguments.py asks for the one with FSDP, and for the other with tensor or context ranks.
  const int connections = plan.zero > 1 ? 8 : 1;
  const std::string command = torchrun(plan, emitted);
  return command_text(
      fmt::format("CUDA_DEVICE_MAX_CONNECTIONS={} {} pretrain_gpt.py", connections, command),
      emitted);
}

std::string torchtitan(const LaunchedPlan& plan) {
  Emitted emitted;
  check_layout(plan, emitted);
  check_order(plan, Framework::Torchtitan, emitted);
  check_precision(plan, emitted);
  if (plan.zero == 1) emitted.lack("ZeRO 1 is not there; FSDP that keeps the weights gathered is");
  std::string_view schedule = kTorchtitanSchedules[0].first;
  for (const auto& [theirs, ours] : kTorchtitanSchedules) {
    if (plan.schedule == ours) schedule = theirs;
  }
  if (plan.schedule == "zb_h1") emitted.lack("ZB-H1 is not there; 1F1B runs instead");
  if (!plan.is_even()) {
    emitted.lack("stages hold " + fmt::format("{}", fmt::join(plan.layers, ", ")) +
                 " layers: name the modules of each in module_fqns_per_model_part");
  }
  if (!plan.offload.empty()) emitted.lack("nothing is offloaded but all by enable_cpu_offload");
  if (plan.tensor > 1 && plan.layout == "least_sent") {
    emitted.lack("tensor ranks divide the tokens between products, too: least_kept");
  }
  if (plan.context > 1 && plan.zero == 0) emitted.lack("context ranks divide the weights");
  const bool divided = plan.zero > 0;
  // By section.
  std::map<std::string, std::string> sections;
  const auto put = [&](const std::string& flag, const auto& value) {
    const auto point = flag.find('.');
    sections[flag.substr(0, point)] += fmt::format("{} = {}\n", flag.substr(point + 1), value);
  };
  put("training.local_batch_size",
      plan.pipeline > 1 ? plan.micro_batch * plan.micro_batches : plan.micro_batch);
  put("parallelism.data_parallel_replicate_degree", divided ? 1 : plan.data);
  put("parallelism.data_parallel_shard_degree", divided ? plan.data : 1);
  put("parallelism.fsdp_reshard_after_forward", toml_string(plan.zero == 3 ? "always" : "never"));
  for (const auto& [flag, value] : counts_of(plan, Framework::Torchtitan)) put(flag, value);
  put("parallelism.pipeline_parallel_schedule", toml_string(std::string(schedule)));
  put("parallelism.pipeline_parallel_microbatch_size", plan.micro_batch);
  put("activation_checkpoint.mode", toml_string(plan.recompute));
  std::string text = comments(emitted.lacks);
  for (const auto& [name, lines] : sections) text += fmt::format("[{}]\n{}\n", name, lines);
  text.pop_back();
  return text;
}

/// JSON has no comments: what is lacking is a key that DeepSpeed does not read.
std::string deepspeed(const LaunchedPlan& plan) {
  Emitted emitted;
  check_layout(plan, emitted);
  check_order(plan, Framework::Deepspeed, emitted);
  check_precision(plan, emitted);
  if (plan.schedule != "1f1b") emitted.lack("pipelines run 1f1b, not " + plan.schedule);
  if (plan.expert > 1) {
    emitted.lack(
        fmt::format("expert parallelism is an argument of the layer: ep_size={}", plan.expert));
  }
  if (plan.pipeline > 1) {
    emitted.lack(fmt::format("stages are an argument of PipelineModule: num_stages={}, layers {}",
                             plan.pipeline, fmt::join(plan.layers, ", ")));
    if (plan.zero > 1) emitted.lack("a pipeline goes with ZeRO 0 and 1 alone");
  }
  if (plan.recompute == "full") emitted.lack("checkpoint each layer in the model");
  Json zero = {{"stage", plan.zero}, {"overlap_comm", true}};
  if (plan.offloads("optimizer")) zero["offload_optimizer"] = {{"device", "cpu"}};
  if (plan.offloads("weights")) zero["offload_param"] = {{"device", "cpu"}};
  Json json = {{"train_batch_size", plan.global_batch},
               {"train_micro_batch_size_per_gpu", plan.micro_batch},
               {"gradient_accumulation_steps", plan.micro_batches},
               {precision_of(plan) == "fp16" ? "fp16" : "bf16", {{"enabled", true}}},
               {"zero_optimization", zero}};
  if (plan.tensor > 1) json["tensor_parallel"] = {{"autotp_size", plan.tensor}};
  if (plan.context > 1) json["sequence_parallel_size"] = plan.context;
  if (plan.offloads("activations")) {
    json["activation_checkpointing"] = {{"cpu_checkpointing", true}};
  }
  if (!emitted.lacks.empty()) json["_not_said_here"] = emitted.lacks;
  return json_text(json);
}

}  // namespace

std::string training_arguments(const Json& result, Framework framework) {
  const LaunchedPlan plan = plan_of(result);
  if (framework == Framework::Megatron) return megatron(plan);
  return framework == Framework::Torchtitan ? torchtitan(plan) : deepspeed(plan);
}

}  // namespace dfsearch
