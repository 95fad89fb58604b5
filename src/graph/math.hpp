#pragma once
// The number formats in which kernels multiply and add.  The bytes that move follow from the word
// of a workload instead: weights of 4 bits may be multiplied in 16 bits.

#include <cstddef>
#include <cstdint>

#include "base/words.hpp"

namespace dfsearch {

enum class Math : std::uint8_t { Fp64, Fp32, Tf32, Bf16, Fp16, Fp8, Fp6, Fp4, Int8 };
inline constexpr std::size_t kMathCount = 9;
constexpr auto words(Math) {
  return named<Math>("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8");
}

}  // namespace dfsearch
