#pragma once
// Peaks by number format (docs/model.md, section 2): a chip states dense peaks of its matrix and of
// its vector engine, and a kernel runs at the first peak that serves its format.  No peak is scaled
// from another format: a GB300 has 5 P of fp8, 165 T of int8 and 1.3 T of fp64.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "graph/math.hpp"

namespace dfsearch {

/// Dense peaks by Math; zero: not stated.
struct EnginePeaks {
  std::array<FlopsPerSecond, kMathCount> of{};

  [[nodiscard]] FlopsPerSecond at(Math math) const { return of[static_cast<std::size_t>(math)]; }
  friend bool operator==(const EnginePeaks&, const EnginePeaks&) = default;
};

struct Peaks {
  EnginePeaks matrix;  ///< arrays of multiply-add units
  EnginePeaks vector;  ///< elementwise units

  [[nodiscard]] bool stated() const { return *this != Peaks(); }
  friend bool operator==(const Peaks&, const Peaks&) = default;
};

/// A peak under its name, such as `matrix.tf32`.
struct StatedPeak {
  bool on_vector = false;
  Math math = Math::Bf16;
  FlopsPerSecond rate{};

  [[nodiscard]] std::string name() const;
};

/// The software that chooses how products of 4-byte words are computed.
enum class MathLibrary : std::uint8_t {
  Torch,        ///< fp32 since 1.12
  TorchTf32,    ///< with `allow_tf32`, or the precision `high`
  TensorFlow,   ///< tf32
  TensorRt,     ///< tf32
  OnnxRuntime,  ///< tf32 on CUDA
  Jax,          ///< tf32 on GPUs, one pass of bf16 on TPUs
  CuBlas,       ///< fp32
};
constexpr auto words(MathLibrary) {
  return named<MathLibrary>("torch", "torch_tf32", "tensorflow", "tensorrt", "onnxruntime", "jax",
                            "cublas");
}

/// The peak of products in a format; nothing if no stated peak serves the format.
std::optional<StatedPeak> product_peak(const Peaks& peaks, Math math);

/// The peak of elementwise kernels, norms and softmax, which never run on arrays.
std::optional<StatedPeak> elementwise_peak(const Peaks& peaks, Math math);

/// The format of products if a config gives none: it follows from the size of a word, and for words
/// of four bytes from the library.  Words with scales of their blocks, such as mxfp8 of 1 + 1/32 B,
/// count as the format without scales.
Math math_of_word(Bytes word, MathLibrary library, const Peaks& peaks);

}  // namespace dfsearch
