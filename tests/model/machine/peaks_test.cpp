// Peaks by number format, of chips as their data sheets have them.

#include "model/machine/peaks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace dfsearch {
namespace {

using Stated = std::vector<std::pair<Math, double>>;  ///< TFLOP/s

Peaks peaks(const Stated& matrix, const Stated& vector) {
  Peaks all;
  for (const auto& [math, rate] : matrix) {
    all.matrix.of[static_cast<std::size_t>(math)] = FlopsPerSecond(rate * 1e12);
  }
  for (const auto& [math, rate] : vector) {
    all.vector.of[static_cast<std::size_t>(math)] = FlopsPerSecond(rate * 1e12);
  }
  return all;
}

const Peaks kH100 = peaks({{Math::Fp64, 66.9},
                           {Math::Tf32, 494.7},
                           {Math::Bf16, 989.4},
                           {Math::Fp16, 989.4},
                           {Math::Fp8, 1978.9}},
                          {{Math::Fp64, 33.5}, {Math::Fp32, 66.9}, {Math::Bf16, 133.8}});
const Peaks kGb300 = peaks({{Math::Fp64, 1.3},
                            {Math::Tf32, 1250},
                            {Math::Bf16, 2500},
                            {Math::Fp8, 5000},
                            {Math::Fp4, 15000},
                            {Math::Int8, 165}},
                           {{Math::Fp64, 1.3}, {Math::Fp32, 80}});
const Peaks kMi355x = peaks({{Math::Fp64, 78.6},
                             {Math::Fp32, 157.3},
                             {Math::Bf16, 2516.6},
                             {Math::Fp8, 5033.2},
                             {Math::Fp6, 10066.3}},
                            {{Math::Fp64, 78.6}, {Math::Fp32, 157.3}});
const Peaks kV100 = peaks({{Math::Fp16, 125}}, {{Math::Fp64, 7.8}, {Math::Fp32, 15.7}});
const Peaks kTpu =
    peaks({{Math::Bf16, 459}, {Math::Int8, 918}, {Math::Fp32, 76.5}}, {{Math::Fp32, 7}});

std::string product(const Peaks& chip, Math math) {
  const auto peak = product_peak(chip, math);
  return peak ? peak->name() : "none";
}

std::string elementwise(const Peaks& chip, Math math) {
  const auto peak = elementwise_peak(chip, math);
  return peak ? peak->name() : "none";
}

TEST_CASE("products run at the first peak that serves their format") {
  CHECK(product(kH100, Math::Fp64) == "matrix.fp64");
  CHECK(product(kH100, Math::Fp32) == "vector.fp32");  // never tf32
  CHECK(product(kH100, Math::Tf32) == "matrix.tf32");
  CHECK(product(kH100, Math::Fp8) == "matrix.fp8");
  CHECK(product(kH100, Math::Fp4) == "matrix.fp8");
  CHECK(product(kH100, Math::Fp6) == "matrix.fp8");
  CHECK(product(kH100, Math::Int8) == "vector.fp32");
  CHECK(product_peak(kGb300, Math::Fp64)->rate == FlopsPerSecond(1.3e12));
  CHECK(product(kGb300, Math::Int8) == "matrix.int8");
  CHECK(product(kMi355x, Math::Tf32) == "matrix.fp32");
  CHECK(product(kMi355x, Math::Fp6) == "matrix.fp6");
  CHECK(product(kV100, Math::Bf16) == "matrix.fp16");
  CHECK(product(kV100, Math::Fp8) == "matrix.fp16");
  CHECK(product(kTpu, Math::Fp64) == "none");
}

TEST_CASE("elementwise kernels never run on arrays") {
  CHECK(elementwise(kH100, Math::Bf16) == "vector.bf16");
  CHECK(elementwise(kH100, Math::Fp8) == "vector.fp32");
  CHECK(elementwise(kGb300, Math::Bf16) == "vector.fp32");
  CHECK(elementwise(kTpu, Math::Fp64) == "none");
}

TEST_CASE("the word decides the format, and the library the one of four bytes") {
  const auto of = [](double word, MathLibrary library = MathLibrary::Torch,
                     const Peaks& chip = kH100) {
    return math_of_word(Bytes(word), library, chip);
  };
  CHECK(of(8.0) == Math::Fp64);
  CHECK(of(4.0) == Math::Fp32);
  CHECK(of(4.0, MathLibrary::TorchTf32) == Math::Tf32);
  CHECK(of(4.0, MathLibrary::TensorFlow) == Math::Tf32);
  CHECK(of(4.0, MathLibrary::CuBlas) == Math::Fp32);
  CHECK(of(4.0, MathLibrary::Jax) == Math::Tf32);
  CHECK(of(4.0, MathLibrary::Jax, kTpu) == Math::Bf16);
  CHECK(of(2.0) == Math::Bf16);
  CHECK(of(1.0 + 1.0 / 32) == Math::Fp8);  // mxfp8
  CHECK(of(0.5 + 1.0 / 16) == Math::Fp4);  // nvfp4
  CHECK(of(0.75) == Math::Fp6);
}

TEST_CASE("a chip states peaks or not") {
  CHECK_FALSE(Peaks().stated());
  CHECK(kV100.stated());
}

}  // namespace
}  // namespace dfsearch
