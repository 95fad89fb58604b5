#pragma once
// Two small good configs, and the messages that bad ones give.

#include <string>
#include <vector>

#include "base/error.hpp"
#include "io/config/load_config.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch::test {

inline constexpr const char* kGood = R"(workload:
  kind: llm_training
  hidden: 64
  heads: 4
  head_dim: 16
  sequence: 32
  layers: 2
  global_batch: 8
system:
  chips: 8
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
  network:
    - {topology: ring, degree: 4, bandwidth: 1 GB/s, strategy: tensor}
    - {topology: ring, degree: 2, bandwidth: 1 GB/s, strategy: data}
execution: {partitions: 4}
)";

inline constexpr const char* kGoodGraph = R"(workload:
  kind: graph
  sequence: 16
  kernels:
    - {name: A, kind: weight_gemm, M: 4, K: 4, N: 16}
    - {name: B, kind: elementwise, M: 4, N: 16}
  tensors:
    - {from: A, to: B}
system:
  chips: 1
  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}
  memory: {bandwidth: 1 GB/s}
)";

/// All messages of a load, without the directory; "accepted" if there is none.
inline std::vector<std::string> messages_of(const TemporaryDirectory& directory,
                                            const std::string& name,
                                            const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> messages;
  try {
    load_config(directory.path() / name, overrides);
    return {"accepted"};
  } catch (const InputError& error) {
    messages = error.messages();
  }
  const std::string prefix = directory.path().string() + "/";
  for (std::string& message : messages) {
    for (std::size_t at = message.find(prefix); at != std::string::npos;
         at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
  }
  return messages;
}

inline std::string joined(const std::vector<std::string>& messages) {
  std::string text;
  for (const std::string& message : messages) text += (text.empty() ? "" : "\n") + message;
  return text;
}

inline std::string message_of(const std::string& text,
                              const std::vector<std::string>& overrides = {}) {
  const TemporaryDirectory directory;
  directory.write("c.yaml", text);
  return joined(messages_of(directory, "c.yaml", overrides));
}

}  // namespace dfsearch::test
