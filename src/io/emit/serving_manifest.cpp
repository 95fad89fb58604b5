// Deployments as manifests for Kubernetes: a DynamoGraphDeployment (nvidia.com/v1alpha1, as in
// examples/backends/*/deploy of ai-dynamo/dynamo, with --disaggregation-mode of its 1.4), and
// values of llm-d-modelservice (examples/values-pd.yaml of its chart).  Both name servers by role,
// with the arguments of the framework as a list.  The model, images and secrets are left to the
// user.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "io/emit/emitted.hpp"

namespace dfsearch {
namespace {

/// A list of YAML below a key, each item in quotes.
std::string list_of(const std::vector<std::string>& words, std::size_t indent) {
  std::string text;
  for (const std::string& word : words) {
    text += std::string(indent, ' ') + "- " + json_string(word) + "\n";
  }
  return text;
}

std::vector<std::string> words_of(const Server& server) {
  std::vector<std::string> words;
  for (const Argument& argument : server.arguments.arguments) {
    for (std::string& word : argument.words()) words.push_back(std::move(word));
  }
  return words;
}

/// Number of nodes of a server, each with the same number of its chips; 0: this is not possible.
std::int64_t nodes_of(const Server& server) {
  if (server.node_chips <= 0 || server.chips <= server.node_chips) return 1;
  const std::int64_t nodes = (server.chips + server.node_chips - 1) / server.node_chips;
  return server.chips % nodes == 0 ? nodes : 0;
}

/// The framework of a result; vLLM if it has none.
Framework framework_of(const Json& result) {
  const Json chosen = result.value("framework", Json());
  const Json name = chosen.is_object() ? chosen.value("name", Json()) : Json();
  const auto named =
      name.is_string() ? value_named<Framework>(name.get<std::string>()) : std::nullopt;
  return named.value_or(Framework::Vllm);
}

EmittedFile begin(const Json& result, const std::vector<Server>& servers) {
  std::vector<std::string> notes = deployment_notes(result);
  EmittedFile file;
  for (const Server& server : servers) {
    for (std::string& note : server.arguments.comments()) notes.push_back(std::move(note));
    file.add_refusals(server.arguments);
  }
  file.text = comments(notes);
  return file;
}

}  // namespace

EmittedFile dynamo_manifest(const Json& result) {
  const Framework framework = framework_of(result);
  const std::vector<Server> servers = servers_of(result, framework);
  EmittedFile file = begin(result, servers);
  if (framework == Framework::Trtllm) {
    file.refusals.emplace_back(
        "TensorRT-LLM, whose arguments Dynamo reads from a file of the image; use --for trtllm");
  }
  const std::string name = framework == Framework::Sglang ? "sglang" : "vllm";
  const std::string image = fmt::format("nvcr.io/nvidia/ai-dynamo/{}-runtime:${{VERSION}}", name);
  file.text += fmt::format(R"(apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: dfsearch-deployment
spec:
  backendFramework: {}
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer:
          image: {}
)",
                           name, image);
  for (const Server& server : servers) {
    const std::int64_t nodes = nodes_of(server);
    if (nodes == 0) {
      file.refusals.push_back(
          fmt::format("a server of {} chips, which cannot be divided evenly over nodes of {}",
                      server.chips, server.node_chips));
      continue;
    }
    std::vector<std::string> words = words_of(server);
    words.insert(words.begin(),
                 {framework == Framework::Sglang ? "--model-path" : "--model", "MODEL"});
    if (!server.role.empty()) {
      const std::vector<std::string> more =
          framework == Framework::Sglang
              ? std::vector<std::string>{"--disaggregation-transfer-backend", "nixl"}
              : std::vector<std::string>{"--disaggregation-mode", server.role};
      words.insert(words.end(), more.begin(), more.end());
    }
    file.text += fmt::format("    {}:\n      componentType: worker\n",
                             server.role.empty() ? "worker" : server.role);
    if (!server.role.empty()) file.text += fmt::format("      subComponentType: {}\n", server.role);
    file.text += fmt::format("      replicas: {}\n", server.replicas);
    if (nodes > 1) file.text += fmt::format("      multinode:\n        nodeCount: {}\n", nodes);
    file.text += fmt::format(R"(      resources:
        limits:
          gpu: "{}"
      envFromSecret: hf-token-secret
      extraPodSpec:
        mainContainer:
          image: {}
          command: [python3, -m, dynamo.{}]
          args:
{})",
                             server.chips / nodes, image, name, list_of(words, 12));
  }
  return file;
}

EmittedFile llm_d_values(const Json& result) {
  const std::vector<Server> servers = servers_of(result, Framework::Vllm);
  EmittedFile file = begin(result, servers);
  file.text += R"(modelArtifacts:
  name: MODEL
  uri: hf://MODEL
  size: SIZE
routing:
  servicePort: 8000
)";
  if (servers.size() == 1) file.text += "prefill:\n  create: false\n";
  for (const Server& server : servers) {
    if (nodes_of(server) != 1) {
      file.refusals.push_back(
          fmt::format("a server of {} chips on nodes of {}, whose ranks llm-d numbers by itself",
                      server.chips, server.node_chips));
    }
    file.text += fmt::format(R"({}:
  create: true
  replicas: {}
  containers:
  - name: vllm
    image: IMAGE
    modelCommand: vllmServe
    args:
{}    resources:
      limits:
        nvidia.com/gpu: "{}"
      requests:
        nvidia.com/gpu: "{}"
    mountModelVolume: true
)",
                             server.role.empty() ? "decode" : server.role, server.replicas,
                             list_of(words_of(server), 4), server.chips, server.chips);
  }
  return file;
}

}  // namespace dfsearch
