#pragma once
// The limits of frameworks that serve: deployments that vLLM (0.11), SGLang (0.5) and TensorRT-LLM
// (1.0) cannot run, by their arguments and the combinations that they refuse.

#include <string_view>
#include <vector>

#include "model/framework.hpp"
#include "model/serving/deployment.hpp"

namespace dfsearch::serving {

/// The reasons why a server with these replicas cannot run the request, by the structure, chunk and
/// depth in the role.  All frameworks serve aggregated and disaggregated.
inline std::vector<std::string_view> lacks(Framework framework, const Role& role,
                                           Drafting drafting) {
  const Structure& s = role.structure;
  std::vector<std::string_view> list;
  const auto lack = [&](bool is_asked, std::string_view what) {
    if (is_asked) list.push_back(what);
  };
  lack(role.depth > 0 && s.pipeline > 1, "tokens are drafted without a pipeline");
  if (framework == Framework::Vllm) {
    lack(s.expert > 1 && s.expert != s.stage_chips(),
         "experts are spread over all chips of a stage, or over none");
    lack(role.depth > 0 && drafting == Drafting::Tree, "drafted tokens are a sequence, no tree");
  } else if (framework == Framework::Sglang) {
    lack(role.chunk > 0 && s.pipeline > 1, "a pipeline takes no chunks of prefill along");
    lack(role.chunk > 0 && role.depth > 0,
         "a pass that checks drafted tokens takes no chunks along");
  } else {
    lack(s.attention_data > 1 && s.tensor > 1,
         "attention is data parallel over all chips of a stage, or over none");
    lack(s.sub_batches > 1, "halves of a batch do not take turns");
  }
  return list;
}

/// Whether the framework of the task, if it has one, runs them.
inline bool runs(const Task& task, const Role& role) {
  return !task.framework || lacks(*task.framework, role, task.speculation.kind).empty();
}

inline bool runs(const Task& task, const Deployment& deployment) {
  return runs(task, deployment.decode) &&
         (deployment.mode == Mode::Aggregated || runs(task, deployment.prefill));
}

}  // namespace dfsearch::serving
