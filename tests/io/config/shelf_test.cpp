// The shelf: what is on it, and how configs name it.  Wrong names are in
// tests/cli/transcripts/machines.txt.

#include "io/config/shelf.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "io/config/load_config.hpp"
#include "io/config/shelf_figures.hpp"

using namespace dfsearch;

namespace {

constexpr std::array kKinds = {ShelfKind::Systems, ShelfKind::Workloads, ShelfKind::Efficiencies,
                               ShelfKind::Studies};

const std::string kWorkload =
    "workload: {kind: llm_prefill, hidden: 64, heads: 4, head_dim: 16, sequence: 32, layers: 2, "
    "global_batch: 8}\n";

/// A name means the same wherever the config is.
Problem problem(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "no/such/folder/c.yaml", overrides).problem;
}

struct Peak {
  const char* name;
  double peak;  ///< TFLOP/s
};

}  // namespace

TEST_CASE("files of the shelf have a name of their own and say what they are") {
  for (const ShelfKind kind : kKinds) {
    const auto files = shelf(kind);
    const auto before = [](const ShelfFile& a, const ShelfFile& b) { return a.name < b.name; };
    CHECK(std::is_sorted(files.begin(), files.end(), before));
    for (const ShelfFile& file : files) {
      CAPTURE(file.source());
      CHECK(file.kind == kind);
      CHECK(is_shelf_name(file.name));
      CHECK(find_on_shelf(kind, file.name) == &file);
      CHECK(file.description().size() > 8);
      CHECK(file.description().size() <= 98);
    }
  }
  CHECK(shelf(ShelfKind::Systems).size() >= 15);
  CHECK(find_on_shelf(ShelfKind::Systems, "llama3_70b") == nullptr);
  CHECK(find_on_shelf(ShelfKind::Workloads, "llama3_70b")->is_model());
  CHECK_FALSE(find_on_shelf(ShelfKind::Workloads, "hpl_1m")->is_model());
  CHECK_FALSE(is_shelf_name(""));
  CHECK_FALSE(is_shelf_name(".."));
}

// Dense products of 16 bits, as the vendors print them (the sources are in the files).
TEST_CASE("chips have the peaks of their data sheets") {
  const std::array peaks = {
      Peak{"a100_dgx", 312},     Peak{"b200_dgx", 2250},      Peak{"gaudi3", 1835},
      Peak{"gb200_nvl72", 2500}, Peak{"h100_dgx", 989},       Peak{"h100_rail_only", 989},
      Peak{"h200_dgx", 989},     Peak{"h200_rail_only", 989}, Peak{"mi300x", 1307.4},
      Peak{"sn40l", 638},        Peak{"tpu_v4", 275},         Peak{"tpu_v5e", 197},
      Peak{"tpu_v5p", 459},      Peak{"trainium2", 667},      Peak{"v100_dgx2", 125},
      Peak{"wse2", 7500},        Peak{"b300_dgx", 2250},      Peak{"gb300_nvl72", 2500},
  };
  for (const Peak& published : peaks) {
    CAPTURE(published.name);
    const ShelfFile* file = find_on_shelf(ShelfKind::Systems, published.name);
    REQUIRE(file != nullptr);
    CHECK(system_figures(*file).machine.peak().in_base_units() / 1e12 ==
          doctest::Approx(published.peak).epsilon(0.003));
  }
}

TEST_CASE("a name stands for the file of the shelf, from any folder") {
  const Problem named =
      problem("workload: {from: gpt3_1t_training}\nsystem: {from: sn30_2d_torus}");
  const Problem read = parse_config(
                           "workload: {from: workloads/gpt3_1t_training.yaml}\n"
                           "system: {from: systems/sn30_2d_torus.yaml}",
                           "configs/c.yaml")
                           .problem;
  CHECK(named.workload.graph == read.workload.graph);
  CHECK(named.workload.layers == read.workload.layers);
  CHECK(named.system.chips == 1024);
  CHECK(named.system.accelerator.sram == read.system.accelerator.sram);
  CHECK(named.system.network.size() == read.system.network.size());
}

TEST_CASE("keys on top of a name go before it, and an override may choose the name") {
  const std::string text =
      kWorkload + "system: {from: h100_dgx, chips: 16, memory: {capacity: 1 TB}}";
  const Machine system = problem(text).system;
  CHECK(system.memory[0].capacity == Bytes(1e12));
  CHECK(system.memory[0].bandwidth == BytesPerSecond(3.35e12));
  CHECK(problem(text, {"system.from=h200_dgx"}).system.memory[0].bandwidth ==
        BytesPerSecond(4.8e12));
  CHECK(problem(text, {"system.from=a100_dgx"}).system.accelerator.cores == 432);
}
