// The shelf: what is on it, and how configs name it.

#include "io/config/shelf.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
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

/// The first message of what is refused.
template <class Read>
std::string message_of(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.messages().front();
  }
  return "accepted";
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

TEST_CASE("rates of a chip have names as well") {
  const std::string text =
      "workload: {model: llama3_8b, global_batch: 128}\nsystem: {from: h100_dgx, chips: 64}\n"
      "training: {}\nexecution: {efficiency: ";
  for (const char* rates : {"h100}", "{from: h100}}"}) {
    const AnyConfig any = parse_any_config(text + rates, "c.yaml");
    CHECK(std::holds_alternative<TrainingConfig>(any));
  }
  CHECK(message_of([&] { parse_any_config(text + "h10}", "c.yaml"); }) ==
        "c.yaml:4:25: from: no built-in set of rates has the name 'h10', expected a name of "
        "configs/efficiencies or the path of a file, like './NAME' or 'NAME.yaml', did you mean "
        "'h100'?");
}

TEST_CASE("what is not on the shelf is told with the nearest name") {
  const auto complaint = [](const std::string& text) { return message_of([&] { problem(text); }); };
  CHECK(complaint(kWorkload + "system: {from: h10_dgx, chips: 8}") ==
        "no/such/folder/c.yaml:2:16: from: no built-in system has the name 'h10_dgx', expected a "
        "name of configs/systems or the path of a file, like './NAME' or 'NAME.yaml', did you mean "
        "'h100_dgx'?");
  CHECK(complaint("workload: {from: gpt3_1t_trainig}\nsystem: {from: sn30_2d_torus}")
            .ends_with("did you mean 'gpt3_1t_training'?"));
  // Names are of one kind.
  CHECK(
      complaint(kWorkload + "system: {from: llama3_70b}").find("no built-in system has the name") !=
      std::string::npos);
}

TEST_CASE("a path is no name, and parts of technologies are named by their kind") {
  const auto complaint = [](const std::string& from) {
    return message_of([&] { problem(kWorkload + "system: {chips: 8, " + from + "}"); });
  };
  for (const char* path : {"./h100_dgx", "h100_dgx.yaml", "systems/h100_dgx"}) {
    CAPTURE(path);
    CHECK(complaint(std::string("from: ") + path).find("cannot read") != std::string::npos);
  }
  for (const char* part : {"technology: {from: h100_dgx}", "budget: {from: h100}",
                           "technology: {from: h100, core: {from: hbm2}}"}) {
    CAPTURE(part);
    CHECK(complaint(part).find("expected a name of configs/technologies") != std::string::npos);
  }
  CHECK(complaint("technology: {from: h100, memory: {from: hbm2}}").find("built-in") ==
        std::string::npos);
  CHECK_FALSE(is_shelf_name(""));
  CHECK_FALSE(is_shelf_name(".."));
}

TEST_CASE("a mistake on top of a file of the shelf has its own place") {
  CHECK(message_of([] {
          problem(kWorkload + "system: {from: h100_dgx, chips: 16, memory: {bandwidth: fast}}");
        }).find("c.yaml:2:57: bandwidth: ") != std::string::npos);
}
