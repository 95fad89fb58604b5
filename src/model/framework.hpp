#pragma once
// Frameworks that train models and that serve them.

#include <cstdint>

#include "base/words.hpp"

namespace dfsearch {

enum class Framework : std::uint8_t { Megatron, Torchtitan, Deepspeed, Vllm, Sglang, Trtllm };
constexpr auto words(Framework) {
  return named<Framework>("megatron", "torchtitan", "deepspeed", "vllm", "sglang", "trtllm");
}
constexpr bool trains(Framework framework) { return framework <= Framework::Deepspeed; }
constexpr bool serves(Framework framework) { return !trains(framework); }

}  // namespace dfsearch
