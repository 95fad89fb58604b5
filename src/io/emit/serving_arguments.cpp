// Deployments as arguments of vLLM (docs.vllm.ai, engine arguments), SGLang (docs.sglang.ai, server
// arguments) and TensorRT-LLM (trtllm-serve), one server of each role.

#include <fmt/format.h>

#include "io/emit/emitted.hpp"

namespace dfsearch {
namespace {

struct LaunchedRole {
  std::string role;  ///< prefill or decode; empty: both
  std::int64_t tensor, pipeline, attention_data, expert, replicas, batch, chunk, depth;

  [[nodiscard]] std::int64_t stage_chips() const { return tensor * attention_data; }
};

LaunchedRole role_of(const Json& json, const std::string& role) {
  return {.role = role,
          .tensor = json.at("tensor"),
          .pipeline = json.at("pipeline"),
          .attention_data = json.at("attention_data"),
          .expert = json.at("expert"),
          .replicas = json.at("replicas"),
          .batch = json.at("batch"),
          .chunk = json.value("chunk", std::int64_t{0}),
          .depth = json.value("depth", std::int64_t{0})};
}

/// What holds for all of them.
Emitted begin(const LaunchedRole& role) {
  Emitted emitted;
  emitted.lack(fmt::format("{}{} x {} chips, behind a router",
                           role.role.empty() ? "" : role.role + ": ", role.replicas,
                           role.stage_chips() * role.pipeline));
  if (role.depth > 0) {
    emitted.lack(fmt::format("speculation of {} tokens: name the drafting model", role.depth));
  }
  return emitted;
}

void check_experts(const LaunchedRole& role, Emitted& emitted) {
  if (role.expert > 1 && role.expert != role.stage_chips()) {
    emitted.lack(fmt::format("experts are spread over all {} chips of a stage, not {} ways",
                             role.stage_chips(), role.expert));
  }
}

std::string vllm(const LaunchedRole& role) {
  Emitted emitted = begin(role);
  check_experts(role, emitted);
  emitted.add("--tensor-parallel-size", role.tensor);
  emitted.add("--pipeline-parallel-size", role.pipeline);
  if (role.attention_data > 1) emitted.add("--data-parallel-size", role.attention_data);
  if (role.expert > 1) emitted.add("--enable-expert-parallel");
  emitted.add("--max-num-seqs", role.batch * role.pipeline);
  if (role.chunk > 0) {
    emitted.add("--enable-chunked-prefill");
    emitted.add("--max-num-batched-tokens", role.chunk + role.batch);
  }
  if (!role.role.empty()) {
    const std::string kind = role.role == "prefill" ? "kv_producer" : "kv_consumer";
    emitted.add("--kv-transfer-config",
                "'{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"" + kind + "\"}'");
  }
  return command_text("vllm serve MODEL", emitted);
}

std::string sglang(const LaunchedRole& role) {
  Emitted emitted = begin(role);
  emitted.add("--tp-size", role.stage_chips());
  emitted.add("--pp-size", role.pipeline);
  if (role.attention_data > 1) {
    emitted.add("--enable-dp-attention");
    emitted.add("--dp-size", role.attention_data);
  }
  if (role.expert > 1) emitted.add("--ep-size", role.expert);
  emitted.add("--max-running-requests", role.batch * role.attention_data * role.pipeline);
  if (role.chunk > 0) {
    emitted.add("--enable-mixed-chunk");
    emitted.add("--chunked-prefill-size", role.chunk);
  }
  if (!role.role.empty()) emitted.add("--disaggregation-mode", role.role);
  return command_text("python3 -m sglang.launch_server --model-path MODEL", emitted);
}

std::string trtllm(const LaunchedRole& role) {
  Emitted emitted = begin(role);
  if (role.attention_data > 1 && role.tensor > 1) {
    emitted.lack("attention is data parallel over all chips of a stage, or over none");
  }
  emitted.add("--tp_size", role.stage_chips());
  emitted.add("--pp_size", role.pipeline);
  if (role.expert > 1) emitted.add("--ep_size", role.expert);
  emitted.add("--max_batch_size", role.batch);
  if (role.chunk > 0) emitted.add("--max_num_tokens", role.chunk + role.batch);
  std::vector<std::string> extra;
  if (role.attention_data > 1) extra.emplace_back("enable_attention_dp: true");
  if (role.chunk > 0) extra.emplace_back("enable_chunked_prefill: true");
  if (!role.role.empty()) extra.emplace_back("cache_transceiver_config: {backend: DEFAULT}");
  if (!extra.empty()) {
    emitted.lack("extra.yaml holds:");
    for (const std::string& line : extra) emitted.lack("  " + line);
    emitted.add("--extra_llm_api_options extra.yaml");
  }
  return command_text("trtllm-serve MODEL", emitted);
}

std::string text_of(const LaunchedRole& role, Framework framework) {
  if (framework == Framework::Vllm) return vllm(role);
  return framework == Framework::Sglang ? sglang(role) : trtllm(role);
}

}  // namespace

std::string serving_arguments(const Json& result, Framework framework) {
  const Json& best = result.at("serving").at("best");
  std::string precision;
  if (best.contains("precision")) {
    for (const auto& [values, number] : best.at("precision").items()) {
      precision += fmt::format("# {} in {}\n", values, number.get<std::string>());
    }
  }
  if (best.at("mode") == "aggregated") return precision + text_of(role_of(best, ""), framework);
  return precision + text_of(role_of(best.at("prefill"), "prefill"), framework) + "\n" +
         text_of(role_of(best.at("decode"), "decode"), framework);
}

}  // namespace dfsearch
