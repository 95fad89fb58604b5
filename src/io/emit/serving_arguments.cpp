// Deployments as arguments of vLLM (docs.vllm.ai, engine arguments), SGLang (docs.sglang.ai, server
// arguments) and TensorRT-LLM (trtllm-serve), one server of each role.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/emit/emitted.hpp"
#include "model/serving/framework.hpp"

namespace dfsearch {
namespace {

/// A role; `name` is prefill or decode, or empty for both.
struct LaunchedRole : serving::Role {
  std::string name;
  bool has_fp8_weights = false, has_fp8_cache = false;
  std::int64_t longest = 0;  ///< tokens of a request, input and output; 0: not known
  double utilization = 1.0;  ///< share of the pool's memory that the answer assumes
};

LaunchedRole role_of(const Json& json, const std::string& name) {
  LaunchedRole role;
  role.name = name;
  role.structure.tensor = json.at("tensor");
  role.structure.pipeline = json.at("pipeline");
  role.structure.attention_data = json.at("attention_data");
  role.structure.expert = json.at("expert");
  role.structure.redundant_experts = json.value("redundant_experts", std::int64_t{0});
  role.structure.sub_batches = json.value("sub_batches", std::int64_t{1});
  role.replicas = json.at("replicas");
  role.batch = json.at("batch");
  role.chunk = json.value("chunk", std::int64_t{0});
  role.depth = json.value("depth", std::int64_t{0});
  return role;
}

/// Chips that share the innermost network of the pool of a role; 0: not known.
std::int64_t node_chips_of(const Json& pool) {
  const Json network = pool.value("network", Json::array());
  if (!network.is_array() || network.empty()) return 0;
  const Json degree = network[0].value("degree", Json());
  return degree.is_number_integer() ? degree.get<std::int64_t>() : 0;
}

/// Notes at the beginning of the arguments of every framework.
Emitted begin(const LaunchedRole& role, Framework framework) {
  Emitted emitted;
  emitted.lack(fmt::format("{}{} x {} chips, behind a router",
                           role.name.empty() ? "" : role.name + ": ", role.replicas,
                           role.structure.chips()));
  if (role.depth > 0) {
    emitted.lack(fmt::format("speculation of {} tokens: name the drafting model", role.depth));
  }
  emitted.refuse(unsupported_features(framework, role, serving::Drafting::Sequence));
  return emitted;
}

Emitted vllm(const LaunchedRole& role) {
  const serving::Structure& s = role.structure;
  Emitted emitted = begin(role, Framework::Vllm);
  emitted.add("--tensor-parallel-size", s.tensor);
  emitted.add("--pipeline-parallel-size", s.pipeline);
  if (s.attention_data > 1) emitted.add("--data-parallel-size", s.attention_data);
  if (s.expert > 1) emitted.add("--enable-expert-parallel");
  if (s.sub_batches > 1) emitted.add("--enable-dbo");
  if (s.redundant_experts > 0) {
    emitted.add("--enable-eplb");
    emitted.add("--eplb-config", json_line({{"num_redundant_experts", s.redundant_experts}}));
  }
  if (role.has_fp8_weights) emitted.add("--quantization fp8");
  if (role.has_fp8_cache) emitted.add("--kv-cache-dtype fp8");
  if (role.longest > 0) emitted.add("--max-model-len", role.longest);
  if (role.utilization < 1.0) {
    emitted.add("--gpu-memory-utilization", fmt::format("{:.4g}", role.utilization));
  }
  emitted.add("--max-num-seqs", role.batch * s.pipeline);
  if (role.chunk > 0) {
    emitted.add("--enable-chunked-prefill");
    emitted.add("--max-num-batched-tokens", role.chunk + role.batch);
  }
  if (!role.name.empty()) {
    const std::string kind = role.name == "prefill" ? "kv_producer" : "kv_consumer";
    emitted.add("--kv-transfer-config",
                json_line({{"kv_connector", "NixlConnector"}, {"kv_role", kind}}));
  }
  return emitted;
}

Emitted sglang(const LaunchedRole& role) {
  const serving::Structure& s = role.structure;
  Emitted emitted = begin(role, Framework::Sglang);
  emitted.add("--tp-size", s.stage_chips());
  emitted.add("--pp-size", s.pipeline);
  if (s.attention_data > 1) {
    emitted.add("--enable-dp-attention");
    emitted.add("--dp-size", s.attention_data);
  }
  if (s.expert > 1) emitted.add("--ep-size", s.expert);
  if (s.redundant_experts > 0) {
    emitted.add("--ep-num-redundant-experts", s.redundant_experts);
  }
  if (role.has_fp8_weights) emitted.add("--quantization fp8");
  if (role.has_fp8_cache) emitted.add("--kv-cache-dtype fp8_e4m3");
  if (role.longest > 0) emitted.add("--context-length", role.longest);
  if (role.utilization < 1.0) {
    emitted.add("--mem-fraction-static", fmt::format("{:.4g}", role.utilization));
  }
  if (s.sub_batches > 1) emitted.add("--enable-two-batch-overlap");
  emitted.add("--max-running-requests", role.batch * s.attention_data * s.pipeline);
  if (role.chunk > 0) {
    emitted.add("--enable-mixed-chunk");
    emitted.add("--chunked-prefill-size", role.chunk);
  }
  if (!role.name.empty()) emitted.add("--disaggregation-mode", role.name);
  return emitted;
}

Emitted trtllm(const LaunchedRole& role) {
  const serving::Structure& s = role.structure;
  Emitted emitted = begin(role, Framework::Trtllm);
  emitted.add("--tp_size", s.stage_chips());
  emitted.add("--pp_size", s.pipeline);
  if (s.expert > 1) emitted.add("--ep_size", s.expert);
  if (s.redundant_experts > 0) {
    emitted.lack(fmt::format("moe_config.load_balancer with num_slots: the experts and {} copies",
                             s.redundant_experts));
  }
  if (role.longest > 0) emitted.add("--max_seq_len", role.longest);
  emitted.add("--max_batch_size", role.batch);
  if (role.chunk > 0) emitted.add("--max_num_tokens", role.chunk + role.batch);
  std::vector<std::string> extra;
  if (s.attention_data > 1) extra.emplace_back("enable_attention_dp: true");
  if (role.chunk > 0) extra.emplace_back("enable_chunked_prefill: true");
  if (role.has_fp8_cache) extra.emplace_back("kv_cache_config: {dtype: fp8}");
  if (role.utilization < 1.0) {
    emitted.add("--kv_cache_free_gpu_memory_fraction", fmt::format("{:.4g}", role.utilization));
  }
  if (!role.name.empty()) extra.emplace_back("cache_transceiver_config: {backend: DEFAULT}");
  if (!extra.empty()) {
    emitted.lack("extra.yaml holds:");
    for (const std::string& line : extra) emitted.lack("  " + line);
    emitted.add("--extra_llm_api_options extra.yaml");
  }
  return emitted;
}

std::string_view program_of(Framework framework) {
  if (framework == Framework::Vllm) return "vllm serve MODEL";
  return framework == Framework::Sglang ? "python3 -m sglang.launch_server --model-path MODEL"
                                        : "trtllm-serve MODEL";
}

/// Longest request: servers reserve memory for it, by default for the far longer model limit.
std::int64_t longest_request(const Json& result) {
  std::int64_t longest = 0;
  for (const Json& request : result.at("workload").value("requests", Json::array())) {
    longest = std::max(longest, request.at("input").get<std::int64_t>() +
                                    request.at("output").get<std::int64_t>());
  }
  return longest;
}

/// The pool of a role; null if the result has none.
Json pool_of(const Json& result, const Json& role) {
  for (const Json& pool : result.value("pools", Json::array())) {
    if (pool.is_object() && pool.value("name", Json()) == role.value("pool", Json())) return pool;
  }
  return Json::object();
}

/// The share of its memory that a pool may use; 1 if unknown.
double utilization_of(const Json& pool) {
  const Json memory = pool.value("memory", Json::object());
  const Json capacity = memory.is_object() ? memory.value("capacity", Json()) : Json();
  const Json usable = pool.value("usable", Json());
  if (!capacity.is_number() || !usable.is_number()) return 1.0;
  const double share = usable.get<double>() / capacity.get<double>();
  return share > 0.0 && share < 1.0 ? share : 1.0;
}

/// The benchmark of vLLM with the load of the answer, for requests of one class; else empty.
std::string benchmark_of(const Json& result) {
  const Json& workload = result.at("workload");
  const Json requests = workload.value("requests", Json::array());
  const Json& figures = result.at("serving").value("figures", Json());
  if (requests.size() != 1 || !figures.is_object()) return {};
  const Json& one = requests[0];
  const Json cached = one.value("prefix", Json());
  const std::int64_t prefix = cached.is_number_integer() ? cached.get<std::int64_t>() : 0;
  const auto count = [](const Json& value) {
    constexpr double kMost = 1e12;
    return std::max<std::int64_t>(std::llround(std::min(value.get<double>(), kMost)), 1);
  };
  std::string text = fmt::format(
      "vllm bench serve --model MODEL --dataset-name random --random-input-len {} "
      "--random-output-len {}",
      one.at("input").get<std::int64_t>() - prefix, one.at("output").get<std::int64_t>());
  if (prefix > 0) text += fmt::format(" --random-prefix-len {}", prefix);
  constexpr std::int64_t kRounds = 10;
  const auto has = [&](const char* key) {
    return workload.contains(key) && workload.at(key).is_number();
  };
  if (has("num_requests")) {
    return text +
           fmt::format(" --num-prompts {} --request-rate inf", count(workload.at("num_requests")));
  }
  if (!figures.contains("in_flight") || !figures.at("in_flight").is_number()) return {};
  const std::int64_t users = count(figures.at("in_flight"));
  text += fmt::format(" --num-prompts {}", kRounds * users);
  if (has("rate")) {
    return text + fmt::format(" --request-rate {:.6g}", workload.at("rate").get<double>());
  }
  return text + fmt::format(" --max-concurrency {} --request-rate inf", users);
}

}  // namespace

std::string number_of(const Json& result, const Json& deployment, const std::string& value) {
  for (const Json& of : {deployment, result.at("workload")}) {
    if (of.contains("precision") && of["precision"].contains(value)) return of["precision"][value];
  }
  return "";
}

std::vector<Server> servers_of(const Json& result, Framework framework) {
  const Json& best = result.at("serving").at("best");
  std::vector<Server> servers;
  const auto add = [&](const Json& given, const std::string& name) {
    const Json pool = pool_of(result, given);
    LaunchedRole role = role_of(given, name);
    role.has_fp8_weights = number_of(result, best, "weights") == "fp8";
    role.has_fp8_cache = number_of(result, best, "cache") == "fp8";
    role.longest = longest_request(result);
    role.utilization = utilization_of(pool);
    servers.push_back({.role = name,
                       .replicas = role.replicas,
                       .chips = role.structure.chips(),
                       .node_chips = node_chips_of(pool),
                       .arguments = framework == Framework::Vllm     ? vllm(role)
                                    : framework == Framework::Sglang ? sglang(role)
                                                                     : trtllm(role)});
  };
  if (best.at("mode") == "aggregated") {
    add(best, "");
  } else {
    add(best.at("prefill"), "prefill");
    add(best.at("decode"), "decode");
  }
  return servers;
}

std::vector<std::string> deployment_notes(const Json& result) {
  const Json& best = result.at("serving").at("best");
  std::vector<std::string> notes;
  for (const serving::PrecisionOf& of : serving::kPrecisionOf) {
    const std::string number = number_of(result, best, std::string(of.name));
    if (!number.empty()) notes.push_back(fmt::format("{} in {}", of.name, number));
  }
  if (const std::string line = benchmark_of(result); !line.empty()) {
    notes.push_back("its load: " + line);
  }
  return notes;
}

EmittedFile serving_arguments(const Json& result, Framework framework) {
  EmittedFile emitted{.text = comments(deployment_notes(result))};
  bool is_first = true;
  for (const Server& server : servers_of(result, framework)) {
    if (!is_first) emitted.text += "\n";
    is_first = false;
    emitted.text += command_text(std::string(program_of(framework)), server.arguments);
    emitted.add_refusals(server.arguments);
  }
  return emitted;
}

}  // namespace dfsearch
