#pragma once
// A result as the launch arguments of frameworks that train and serve.

#include <cstdint>
#include <string>

#include "base/words.hpp"

namespace dfsearch {

enum class Framework : std::uint8_t { Megatron, Torchtitan, Deepspeed, Vllm, Sglang, Trtllm };
constexpr auto words(Framework) {
  return named<Framework>({{"megatron", Framework::Megatron},
                           {"torchtitan", Framework::Torchtitan},
                           {"deepspeed", Framework::Deepspeed},
                           {"vllm", Framework::Vllm},
                           {"sglang", Framework::Sglang},
                           {"trtllm", Framework::Trtllm}});
}
constexpr bool trains(Framework framework) { return framework <= Framework::Deepspeed; }

/// Arguments of the plan or deployment of a result in JSON (docs/results.md); comments say what the
/// framework cannot do as the answer says.  `name` stands for the result in messages.  Throws
/// InputError for a result without a plan, or without a deployment, as the framework needs.
std::string launch_arguments(const std::string& result, const std::string& name,
                             Framework framework);

}  // namespace dfsearch
