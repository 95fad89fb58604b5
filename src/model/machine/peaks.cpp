// A table of the peaks that serve each format, in the order in which they are taken.  fp32 is never
// taken from tf32, whose products have 10 bits of mantissa; tf32 runs on fp32 arrays where there is
// no faster one; narrow formats are converted to wider formats that the arrays have.

#include "model/machine/peaks.hpp"

#include <array>
#include <span>
#include <vector>

namespace dfsearch {
namespace {

struct Candidate {
  bool on_vector;
  Math math;
};

constexpr Candidate matrix(Math math) { return {false, math}; }
constexpr Candidate vector(Math math) { return {true, math}; }

/// Peaks that serve products in a format; floating-point formats below 16 bits end with the peaks
/// of bf16.
std::vector<Candidate> candidates(Math math) {
  const std::vector<Candidate> as_bf16 = {matrix(Math::Bf16), matrix(Math::Fp16),
                                          vector(Math::Bf16), vector(Math::Fp32)};
  std::vector<Candidate> first;
  switch (math) {
    case Math::Fp64:
      return {matrix(Math::Fp64), vector(Math::Fp64)};
    case Math::Fp32:
      return {matrix(Math::Fp32), vector(Math::Fp32)};
    case Math::Tf32:
      return {matrix(Math::Tf32), matrix(Math::Fp32), vector(Math::Fp32)};
    case Math::Bf16:
      return as_bf16;
    case Math::Fp16:
      return {matrix(Math::Fp16), matrix(Math::Bf16), vector(Math::Fp16), vector(Math::Fp32)};
    case Math::Int8:
      return {matrix(Math::Int8), vector(Math::Int8), vector(Math::Fp32)};
    case Math::Fp8:
      first = {matrix(Math::Fp8)};
      break;
    case Math::Fp6:
      first = {matrix(Math::Fp6), matrix(Math::Fp8)};
      break;
    case Math::Fp4:
      first = {matrix(Math::Fp4), matrix(Math::Fp8)};
      break;
  }
  first.insert(first.end(), as_bf16.begin(), as_bf16.end());
  return first;
}

std::optional<StatedPeak> first_stated(const Peaks& peaks, std::span<const Candidate> from) {
  for (const Candidate& candidate : from) {
    const EnginePeaks& engine = candidate.on_vector ? peaks.vector : peaks.matrix;
    const FlopsPerSecond rate = engine.at(candidate.math);
    if (rate > FlopsPerSecond{}) return StatedPeak{candidate.on_vector, candidate.math, rate};
  }
  return std::nullopt;
}

}  // namespace

std::string StatedPeak::name() const {
  return std::string(on_vector ? "vector." : "matrix.") + name_of(math);
}

// docs/model.md (62)
std::optional<StatedPeak> product_peak(const Peaks& peaks, Math math) {
  return first_stated(peaks, candidates(math));
}

// docs/model.md (64)
std::optional<StatedPeak> elementwise_peak(const Peaks& peaks, Math math) {
  const Candidate own = vector(math);
  const Candidate wider = vector(math == Math::Fp64 ? Math::Fp64 : Math::Fp32);
  return first_stated(peaks, std::array{own, wider});
}

// docs/model.md (63)
Math math_of_word(Bytes word, MathLibrary library, const Peaks& peaks) {
  const double bytes = word.in_base_units();
  if (bytes > 4.5) return Math::Fp64;
  if (bytes <= 0.5625) return Math::Fp4;
  if (bytes <= 0.78125) return Math::Fp6;
  if (bytes <= 1.0625) return Math::Fp8;
  if (bytes <= 2.25) return Math::Bf16;
  switch (library) {
    case MathLibrary::Torch:
    case MathLibrary::CuBlas:
      return Math::Fp32;
    case MathLibrary::Jax:
      return peaks.matrix.at(Math::Tf32) > FlopsPerSecond{} ? Math::Tf32 : Math::Bf16;
    default:
      return Math::Tf32;
  }
}

}  // namespace dfsearch
