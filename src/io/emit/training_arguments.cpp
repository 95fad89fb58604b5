// Plans of training as arguments of Megatron-LM (core 0.13: megatron/training/arguments.py),
// torchtitan (torchtitan/config/job_config.py) and DeepSpeed (its JSON configuration).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "io/emit/argument_text.hpp"
#include "io/emit/emitted.hpp"
#include "model/training/framework.hpp"
#include "model/training/plan.hpp"
#include "model/training/schedule.hpp"
#include "model/training/stages.hpp"

namespace dfsearch {
namespace {

struct LaunchedPlan {
  const Json& result;
  // `expert` counts all ranks that share the experts, `data` all replicas.
  std::int64_t tensor, context, expert, pipeline, data;
  std::int64_t micro_batch, micro_batches, global_batch, zero, chunks;
  std::string layout, recompute, schedule;
  std::vector<std::int64_t> layers;  ///< of each stage
  std::vector<std::string> offload;

  [[nodiscard]] bool is_even() const {
    return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end();
  }
  /// Expert ranks include the tensor ranks.
  [[nodiscard]] bool has_whole_experts() const { return layout == "whole_experts" && tensor > 1; }
  [[nodiscard]] std::int64_t all_layers() const {
    return std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  }
  [[nodiscard]] bool offloads(const std::string& what) const {
    return std::find(offload.begin(), offload.end(), what) != offload.end();
  }
};

/// The recomputation: a word, or the modules joined by a text.
std::string recompute_of(const Json& plan, std::string_view joint) {
  const Json& said = plan.at("recompute");
  if (said.is_string()) return said;
  return fmt::format("{}", fmt::join(said.get<std::vector<std::string>>(), joint));
}

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
          .recompute = recompute_of(plan, " "),
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

/// Layers of each stage as in "Et*2|t*3|t*2L", with the embedding first and the loss last.
std::string stages_text(const LaunchedPlan& plan) {
  std::string text = "E";
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    if (i > 0) text += "|";
    if (plan.layers[i] > 0) text += fmt::format("t*{}", plan.layers[i]);
  }
  return text + "L";
}

training::Plan searched_plan(const LaunchedPlan& plan) {
  using training::Role;
  using training::TensorLayout;
  training::Plan searched{
      .micro_batch = plan.micro_batch,
      .recompute = memory::recompute_of(recompute_of(plan.result.at("plan"), "+"))
                       .value_or(training::Recompute::Unknown),
      .zero = static_cast<int>(plan.zero),
      .schedule =
          value_named<training::Schedule>(plan.schedule).value_or(training::Schedule::GPipe),
      .chunks = plan.chunks,
      .offload = {.weights = plan.offloads("weights"),
                  .activations = plan.offloads("activations"),
                  .optimizer = plan.offloads("optimizer")},
      .layers = plan.layers};
  searched.layout = training::front_layout(1);
  for (const TensorLayout layout :
       {TensorLayout::LeastSent, TensorLayout::LeastKept, TensorLayout::WholeExperts}) {
    if (plan.layout == training::name_of(layout)) searched.layout = layout;
  }
  searched.degrees[Role::Tensor] = plan.tensor;
  searched.degrees[Role::Context] = plan.context;
  searched.degrees[Role::Expert] =
      plan.has_whole_experts() ? plan.expert / plan.tensor : plan.expert;
  searched.degrees[Role::Pipeline] = plan.pipeline;
  searched.degrees[Role::Data] =
      plan.data / std::max<std::int64_t>(searched.degrees[Role::Expert], 1);
  return searched;
}

/// Refuses a plan that a search for the framework does not contain.
void check_plan(const LaunchedPlan& plan, Framework framework, Emitted& emitted) {
  const Json& workload = plan.result.at("workload");
  const training::ModelFacts model{.heads = workload.value("heads", std::int64_t{0}),
                                   .kv_heads = workload.value("kv_heads", std::int64_t{0}),
                                   .tokens = workload.at("sequence"),
                                   .global_batch = plan.global_batch,
                                   .experts = workload.value("experts", std::int64_t{0}) > 0,
                                   .tied = workload.value("tied", false)};
  const training::Plan searched = searched_plan(plan);
  emitted.refuse(training::unsupported_features(framework, model, searched));
  if (workload.contains("kinds")) {
    emitted.refuse(std::vector<std::string>{
        "arguments for layers of several kinds, which frameworks read as patterns of their own"});
  }
  if (!training::is_possible(searched.schedule, plan.chunks, plan.micro_batches, plan.layers)) {
    emitted.refuse(std::vector<std::string>{
        fmt::format("{} stages of {} chunks do not hold {} layers", plan.schedule, plan.chunks,
                    fmt::join(plan.layers, ", "))});
  }
}

std::vector<training::Division> network_of(const Json& result) {
  std::vector<training::Division> network;
  for (const Json& dimension : result.at("network")) {
    training::Division& division = network.emplace_back();
    for (const training::Role role : training::kRoles) {
      division[role] = dimension.value(training::name_of(role), std::int64_t{1});
    }
    // The order does not matter: users place the ranks of a mesh.
    if (dimension.contains("order")) division.order = {training::Role::Tensor};
  }
  return network;
}

/// Roles as in "tensor 4 x data 2, then data 128", the innermost dimension first.
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

/// Whether to use the usual order of ranks; adds a note if the places of the plan in the network
/// follow from no order of the framework.
bool check_order(const LaunchedPlan& plan, Framework framework, Emitted& emitted) {
  const std::vector<training::Division> network = network_of(plan.result);
  if (training::can_number(framework, network, searched_plan(plan).layout)) {
    return training::is_numbered_so(network, training::kUsualOrder);
  }
  emitted.lack("ranks are numbered tensor, context, data, pipeline; the step was timed with " +
               placement_text(network) + ", the innermost dimension first");
  return true;
}

/// The exchange by which context ranks get the keys and values of all tokens, by its name in
/// Transformer Engine.  With a stack the exchange goes around a ring (docs/truth.md); such a
/// result has no `work`.
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

/// `torchrun` with the processes of a node, which are the chips of the innermost dimension, if
/// these divide the machine.
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

/// The precision of linear layers, by the name of its recipe; empty if the result has none.
std::string precision_of(const LaunchedPlan& plan) {
  const Json& workload = plan.result.at("workload");
  if (!workload.contains("precision") || !workload["precision"].is_string()) return "";
  return workload["precision"];
}

/// Adds flags of Megatron by precision: 8-bit products are set in addition to two-byte words.
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
  if (precision == "nvfp4")
    emitted.lack("linear layers in nvfp4, for which this framework has no argument");
}

/// Notes a precision of less than two bytes, for which the framework has no argument.
void check_precision(const LaunchedPlan& plan, Emitted& emitted) {
  const std::string precision = precision_of(plan);
  if (precision.empty() || precision == "bf16" || precision == "fp16") return;
  emitted.lack("linear layers are in " + precision + ": the step was timed with that");
}

/// Adds the exchange of tokens among experts; notes other software of the timed step.
void add_dispatcher(const LaunchedPlan& plan, Emitted& emitted) {
  const Json others = plan.result.value("switches", Json());
  std::string used(name_of(stack::Dispatcher::AllToAll));
  if (others.is_array() && !others.empty()) {
    // A result lists the other values of each switch, so the value that is not listed is in use.
    for (const auto& word : words(stack::Dispatcher{})) {
      const bool is_other = std::any_of(others.begin(), others.end(), [&](const Json& each) {
        return each.at("switch") == "dispatcher" && each.at("value") == word.name;
      });
      if (!is_other) used = word.name;
    }
    emitted.lack("graphs, overlap and kernels of experts: set them as in 'execution.stack'");
  }
  const bool is_plain = used == name_of(stack::Dispatcher::AllToAll);
  emitted.add("--moe-token-dispatcher-type", is_plain ? used : std::string("flex"));
  if (!is_plain) emitted.add("--moe-flex-dispatcher-backend", used);
}

/// Adds the layers of each stage and chunk.
void add_stages(const LaunchedPlan& plan, Emitted& emitted) {
  if (plan.chunks > 1) emitted.add("--num-virtual-stages-per-pipeline-rank", plan.chunks);
  if (plan.is_even()) return;
  const auto slots = training::chunk_slots(plan.layers, plan.chunks);
  if (!slots) return emitted.add("--pipeline-model-parallel-layout", stages_text(plan));
  if (slots->embedding) emitted.add("--account-for-embedding-in-pipeline-split");
  if (slots->loss) emitted.add("--account-for-loss-in-pipeline-split");
  if (slots->own_ends) {
    emitted.add("--decoder-first-pipeline-num-layers", plan.layers.front());
    emitted.add("--decoder-last-pipeline-num-layers", plan.layers.back());
  }
}

EmittedFile megatron(const LaunchedPlan& plan) {
  Emitted emitted;
  check_plan(plan, Framework::Megatron, emitted);
  add_precision(plan, emitted);
  const bool whole = plan.has_whole_experts();
  for (const auto& [flag, value] : counts_of(plan, Framework::Megatron)) emitted.add(flag, value);
  if (plan.tensor > 1 && plan.layout != "least_sent") emitted.add("--sequence-parallel");
  if (plan.context > 1) emitted.add("--cp-comm-type", context_exchange(plan));
  if (plan.expert > 1) {
    emitted.add("--expert-model-parallel-size", plan.expert);
    emitted.add("--expert-tensor-parallel-size", whole ? std::int64_t{1} : plan.tensor);
    add_dispatcher(plan, emitted);
  }
  add_stages(plan, emitted);
  if (plan.recompute == "full") {
    emitted.add("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  } else if (plan.recompute != "none") {
    emitted.add("--recompute-granularity selective");
    if (plan.recompute != "selective") {
      emitted.add(fmt::format("{} {}", kModulesFlag, plan.recompute));
    }
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
    emitted.add("--use-precision-aware-optimizer");
  }
  if (plan.offloads("activations")) {
    // All layers but the last one, whose activations are needed again at once.
    emitted.add("--cpu-offloading-num-layers", plan.all_layers() - 1);
  }
  if (!check_order(plan, Framework::Megatron, emitted)) emitted.add(std::string(kStagesInsideFlag));
  // Megatron's arguments.py refuses 1 with FSDP, and requires 1 with tensor or context ranks.
  const int connections = plan.zero > 1 ? 8 : 1;
  const std::string command = torchrun(plan, emitted);
  return {command_text(fmt::format("CUDA_DEVICE_MAX_CONNECTIONS={} {} pretrain_gpt.py", connections,
                                   command),
                       emitted),
          emitted.refusals};
}

/// The modules of each chunk of each stage, as in ["tok_embeddings", "layers.0"], ...
std::string modules_text(const LaunchedPlan& plan) {
  std::vector<std::string> chunks;
  std::int64_t layer = 0;
  for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    for (std::size_t stage = 0; stage < plan.layers.size(); ++stage) {
      std::vector<std::string> modules;
      if (chunk == 0 && stage == 0) modules.emplace_back("\"tok_embeddings\"");
      for (std::int64_t i = 0; i < plan.layers[stage] / plan.chunks; ++i) {
        modules.push_back(fmt::format("\"layers.{}\"", layer++));
      }
      if (chunk + 1 == plan.chunks && stage + 1 == plan.layers.size()) {
        modules.emplace_back("\"norm\"");
        modules.emplace_back("\"output\"");
      }
      chunks.push_back(fmt::format("[{}]", fmt::join(modules, ", ")));
    }
  }
  return fmt::format("[{}]", fmt::join(chunks, ", "));
}

EmittedFile torchtitan(const LaunchedPlan& plan) {
  Emitted emitted;
  check_plan(plan, Framework::Torchtitan, emitted);
  check_order(plan, Framework::Torchtitan, emitted);
  check_precision(plan, emitted);
  std::string_view schedule = kTorchtitanSchedules[0].first;
  for (const auto& [theirs, ours] : kTorchtitanSchedules) {
    if (plan.schedule == ours) schedule = theirs;
  }
  const bool divided = plan.zero > 0;
  // Lines of the file by section.
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
  if (plan.tensor > 1 && plan.expert > 1) {
    put("parallelism.expert_tensor_parallel_degree",
        plan.has_whole_experts() ? std::int64_t{1} : plan.tensor);
  }
  const auto slots = training::chunk_slots(plan.layers, plan.chunks);
  if (slots && !slots->own_ends) {
    // The embedding and the loss count as this number of layers each.
    const std::int64_t first = slots->embedding ? 1 : 0, last = slots->loss ? 1 : 0;
    put("parallelism.pipeline_parallel_first_stage_less_layers", first);
    put("parallelism.pipeline_parallel_last_stage_less_layers", last);
    put("parallelism.pipeline_parallel_layers_per_stage",
        (plan.all_layers() + first + last) / (plan.pipeline * plan.chunks));
  } else if (plan.pipeline > 1) {
    put("parallelism.module_fqns_per_model_part", modules_text(plan));
  }
  const bool is_op = plan.recompute == "op_sac";
  put("activation_checkpoint.mode", toml_string(is_op ? "selective" : plan.recompute));
  if (is_op) put("activation_checkpoint.selective_ac_option", toml_string("op"));
  std::string text = comments(emitted.comments());
  for (const auto& [name, lines] : sections) text += fmt::format("[{}]\n{}\n", name, lines);
  text.pop_back();
  return {text, emitted.refusals};
}

/// JSON has no comments, so the gaps are listed under a key that DeepSpeed does not read.
EmittedFile deepspeed(const LaunchedPlan& plan) {
  Emitted emitted;
  check_plan(plan, Framework::Deepspeed, emitted);
  check_order(plan, Framework::Deepspeed, emitted);
  check_precision(plan, emitted);
  if (plan.expert > 1) {
    emitted.lack(
        fmt::format("expert parallelism is an argument of the layer: ep_size={}", plan.expert));
  }
  if (plan.pipeline > 1) {
    emitted.lack(fmt::format("stages are an argument of PipelineModule: num_stages={}, layers {}",
                             plan.pipeline, fmt::join(plan.layers, ", ")));
  }
  if (plan.recompute != "none") {
    emitted.lack("checkpoint each layer in the model" +
                 (plan.recompute == "full" ? "" : ", of it alone: " + plan.recompute));
  }
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
  const std::vector<std::string> comments = emitted.comments();
  if (!comments.empty()) json["_not_said_here"] = comments;
  return {json_text(json), emitted.refusals};
}

}  // namespace

EmittedFile training_arguments(const Json& result, Framework framework) {
  const LaunchedPlan plan = plan_of(result);
  if (framework == Framework::Megatron) return megatron(plan);
  return framework == Framework::Torchtitan ? torchtitan(plan) : deepspeed(plan);
}

}  // namespace dfsearch
