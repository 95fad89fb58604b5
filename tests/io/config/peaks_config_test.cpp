// Peaks by number format in configs: the rate of every kernel, and data that passes through memory.
// Wrong ones are in tests/cli/transcripts/machines.txt.

#include <doctest/doctest.h>

#include <string>

#include "engine/solve.hpp"
#include "io/config/load_config.hpp"
#include "model/kernel_rates.hpp"

namespace dfsearch {
namespace {

Config config(const std::string& text) { return parse_config(text, "c.yaml"); }

std::string product(const std::string& word, const std::string& execution,
                    const std::string& system = "{from: h100_dgx, chips: 1}") {
  return "workload: {kind: graph, word: " + word +
         ", kernels: [{name: A, kind: weight_gemm, M: 8192, K: 8192, N: 8192}], tensors: []}\n"
         "system: " +
         system + "\nexecution: {style: kernel_by_kernel" + execution + "}\n";
}

double compute_of(const std::string& text) {
  return solve(config(text).problem, {}).cost->partitions.front().compute.in_base_units();
}

double step_of(const std::string& text) {
  return solve(config(text).problem, {}).cost->step_time.in_base_units();
}

}  // namespace

TEST_CASE("a product runs at the peak of its format") {
  for (const char* cores : {"", ", compute_utilization: 1"}) {
    const double in_16_bits = compute_of(product("2 B", cores));
    const auto factor = [&](const std::string& word, const std::string& execution) {
      return compute_of(product(word, execution + cores)) / in_16_bits;
    };
    CHECK(in_16_bits == doctest::Approx(2.0 * 8192.0 * 8192.0 * 8192.0 / 989.4e12).epsilon(0.05));
    CHECK(factor("4 B", "") == doctest::Approx(989.4 / 66.9).epsilon(1e-3));
    CHECK(factor("4 B", ", framework: tensorflow") == doctest::Approx(2.0).epsilon(1e-3));
    CHECK(factor("8 B", "") == doctest::Approx(989.4 / 66.9).epsilon(1e-3));
    CHECK(factor("1 B", "") == doctest::Approx(0.5).epsilon(1e-3));
    CHECK(factor("4 b", ", math: bf16") == doctest::Approx(1.0).epsilon(1e-3));
  }
}

TEST_CASE("the math of a kernel goes before that of the execution") {
  const Problem problem =
      config(
          "workload: {kind: graph, kernels: [{name: A, kind: weight_gemm, M: 64, K: 64, N: 64, "
          "math: fp8}, {name: B, kind: weight_gemm, M: 64, K: 64, N: 64}, {name: C, kind: "
          "elementwise, M: 64, N: 64}], tensors: [{from: A, to: B}, {from: B, to: C}]}\n"
          "system: {from: h100_dgx, chips: 1}\n"
          "execution: {math: tf32}\n")
          .problem;
  const auto& kernels = problem.workload.graph.kernels();
  CHECK(peak_of(problem, kernels[0])->name() == "matrix.fp8");
  CHECK(peak_of(problem, kernels[1])->name() == "matrix.tf32");
  CHECK(peak_of(problem, kernels[2])->name() == "vector.fp32");
  CHECK(kernels[0].slowness == doctest::Approx(989.4 / 1978.9));
  CHECK(kernels[1].slowness == doctest::Approx(2.0));
  // A lane of 66.9 T elements takes one FLOP of each.
  CHECK(kernels[2].slowness == doctest::Approx(989.4 / 66.9));
  CHECK(kernels[2].cycle_scale == doctest::Approx(528 * 32 * 1.83e9 / 66.9e12));
}

TEST_CASE("without peaks all formats run at the peak of the cores, with a note") {
  const std::string own =
      "{chips: 1, accelerator: {cores: 8, lanes: 8, stages: 8, frequency: 1 GHz, sram: 1 MB}, "
      "memory: {bandwidth: 1 GB/s}}";
  const Config plain = config(product("4 B", "", own));
  CHECK(plain.problem.workload.graph.kernels()[0].slowness == 1.0);
  REQUIRE(plain.notes.size() == 1);
  CHECK(plain.notes[0].find("words of 4 B") == 0);
  CHECK(config(product("2 B", "", own)).notes.empty());
}

TEST_CASE("all peaks of a file change as the cores that an override changes") {
  const std::string graph =
      "workload: {kind: graph, word: 8 B, kernels: [{name: A, kind: weight_gemm, M: 8192, K: 8192, "
      "N: 8192}, {name: B, kind: elementwise, M: 8192, N: 8192}], tensors: [{from: A, to: B}]}\n";
  const auto machine_of = [&](const std::string& changes) {
    return config(graph + "system: {from: h100_dgx, chips: 1" + changes + "}\n").problem;
  };
  const Problem plain = machine_of("");
  const Problem half = machine_of(", accelerator: {frequency: 0.915 GHz}");
  const Problem own =
      machine_of(", accelerator: {frequency: 0.915 GHz}, peaks: {matrix: {fp64: 50 TFLOP/s}}");
  const double change = half.system.accelerator.peak() / plain.system.peaks.matrix.at(Math::Bf16);
  REQUIRE(change == doctest::Approx(0.5).epsilon(0.01));
  for (const Math math : {Math::Bf16, Math::Fp64, Math::Fp8, Math::Tf32}) {
    CHECK(half.system.peaks.matrix.at(math) / plain.system.peaks.matrix.at(math) ==
          doctest::Approx(change).epsilon(1e-12));
  }
  const FlopsPerSecond vector = half.system.peaks.vector.at(Math::Fp64);
  CHECK(vector / plain.system.peaks.vector.at(Math::Fp64) ==
        doctest::Approx(change).epsilon(1e-12));
  CHECK(own.system.peaks.matrix.at(Math::Fp64) == FlopsPerSecond(50e12));
  // The time of each kernel, of cores and of lanes, is twice as long.
  for (std::size_t i = 0; i < 2; ++i) {
    const Kernel& before = plain.workload.graph.kernels()[i];
    const Kernel& after = half.workload.graph.kernels()[i];
    CHECK(after.slowness == doctest::Approx(before.slowness).epsilon(1e-12));
    CHECK(after.cycle_scale == doctest::Approx(before.cycle_scale).epsilon(0.01));
  }
}

TEST_CASE("a chip of peaks needs no cores") {
  const std::string chip =
      "{chips: 1, accelerator: {sram: 1 MB}, peaks: {matrix: {bf16: 100 TFLOP/s}, vector: {fp32: "
      "5 TFLOP/s}}, memory: {bandwidth: 1 TB/s}}";
  const double flop = 2.0 * 8192.0 * 8192.0 * 8192.0;
  CHECK(compute_of(product("2 B", "", chip)) == doctest::Approx(flop / 100e12).epsilon(1e-6));
  CHECK(compute_of(product("4 B", "", chip)) == doctest::Approx(flop / 5e12).epsilon(1e-6));
}

TEST_CASE("no FFT is faster than its passes through memory") {
  const std::string workload = "workload: {kind: fft, word: 8 B, length: 1073741824, radix: 2}\n";
  const std::string h100 = "system: {from: h100_dgx, chips: 1}\n";
  const double pass = 2.0 * 8.0 * 1073741824.0 / 3350e9;
  CHECK(step_of(workload + h100) == doctest::Approx(2.0 * pass).epsilon(1e-3));
  // Columns of 32,768 points of 8 B do not fit into 200 kB.
  CHECK(step_of(workload + "system: {from: h100_dgx, chips: 1, accelerator: {sram: 200 kB}}\n") ==
        doctest::Approx(4.0 * pass).epsilon(1e-3));
  CHECK(step_of(workload + h100 + "equations: {out_of_core: free}\n") < 0.5 * pass);
}

TEST_CASE("no iteration of HPL is faster than its matrix through memory") {
  const std::string workload =
      "workload: {kind: hpl, word: 2 B, n: 16384, block: 128, iterations: 2}\n";
  const std::string slow =
      "accelerator: {cores: 64, lanes: 32, stages: 4, frequency: 1 GHz, sram: 1 MB}, "
      "memory: {bandwidth: 100 GB/s, capacity: 16 GB}";
  const double bytes = 2.0 * 2.0 * (16384.0 * 16384.0 + 16256.0 * 16256.0);
  CHECK(step_of(workload + "system: {chips: 1, " + slow + "}\n") ==
        doctest::Approx(bytes / 100e9).epsilon(1e-3));
  // A grid of 2 x 2 chips has a quarter of the matrix each.
  const std::string grid = "system: {chips: 4, " + slow +
                           ", network: [{topology: ring, degree: 2, bandwidth: 1 TB/s}, "
                           "{topology: ring, degree: 2, bandwidth: 1 TB/s}]}\n";
  CHECK(step_of(workload + grid) == doctest::Approx(bytes / 4.0 / 100e9).epsilon(1e-3));
  CHECK(step_of(workload + "system: {chips: 1, " + slow + "}\nequations: {out_of_core: free}\n") <
        0.5 * bytes / 100e9);
}

TEST_CASE("HPL in fp64 is below its peak, however its network is written") {
  const std::string text =
      "workload: {kind: hpl, word: 8 B, n: 264192, block: 1024, iterations: 64}\n"
      "system: {from: h100_dgx, chips: 8}\n";
  const Config read = config(text);
  const SearchResult found = solve(read.problem, {});
  REQUIRE(found.cost);
  CHECK(found.cost->utilization <= 1.0);
  const double peak = peak_of_products(read.problem).in_base_units();
  CHECK(peak == doctest::Approx(66.9e12).epsilon(1e-3));
}

}  // namespace dfsearch
