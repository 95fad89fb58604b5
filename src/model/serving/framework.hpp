#pragma once
// Deployments that vLLM (0.11), SGLang (0.5) and TensorRT-LLM (1.0) cannot run, because an argument
// is missing or a combination is refused.

#include <string_view>
#include <vector>

#include "model/framework.hpp"
#include "model/serving/deployment.hpp"

namespace dfsearch::serving {

/// The reasons for which the framework refuses replicas of this structure, chunk and depth.  All
/// frameworks support both modes, aggregated and disaggregated.
inline std::vector<std::string_view> unsupported_features(Framework framework, const Role& role,
                                                          Drafting drafting) {
  const Structure& s = role.structure;
  std::vector<std::string_view> list;
  const auto lack = [&](bool is_asked, std::string_view what) {
    if (is_asked) list.push_back(what);
  };
  lack(role.depth > 0 && s.pipeline > 1, "drafted tokens are not supported in a pipeline");
  if (framework == Framework::Vllm) {
    lack(s.expert > 1 && s.expert != s.stage_chips(),
         "experts are spread over all chips of a stage, or over none");
    lack(role.depth > 0 && drafting == Drafting::Tree,
         "drafted tokens form a sequence, not a tree");
  } else if (framework == Framework::Sglang) {
    lack(role.chunk > 0 && s.pipeline > 1, "chunks of prefill are not supported in a pipeline");
    lack(role.chunk > 0 && role.depth > 0,
         "chunks of prefill are not supported with drafted tokens");
  } else {
    lack(s.attention_data > 1 && s.tensor > 1,
         "attention is data parallel over all chips of a stage, or over none");
    lack(s.sub_batches > 1, "sub_batches: 2 is not supported");
  }
  return list;
}

/// Whether the framework of the task, if any, can run the replicas.
inline bool runs(const Task& task, const Role& role) {
  return !task.framework ||
         unsupported_features(*task.framework, role, task.speculation.kind).empty();
}

inline bool runs(const Task& task, const Deployment& deployment) {
  return runs(task, deployment.decode) &&
         (deployment.mode == Mode::Aggregated || runs(task, deployment.prefill));
}

}  // namespace dfsearch::serving
