// Configs with a technology and a budget: what they give.  Wrong ones are in
// tests/cli/transcripts/technologies.txt.

#include <doctest/doctest.h>

#include <string>

#include "io/config/config_messages.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

const char* const kChip =
    R"(workload: {kind: graph, kernels: [{name: A, kind: elementwise}], tensors: []}
system:
  chips: 8
  technology:
    core: {lanes: 8, stages: 8, bundle: 8, area: 0.38 mm2, power: 0.13 W, frequency: 1.33 GHz, voltage: 0.8 V, threshold: 0.2 V, margin: 0.35 V, maximum_voltage: 1.2 V, utilization: 0.85}
    L2: {scope: chip, bank: 32 KiB, cell_area: 0.064 um2/bit, overhead: 0.2, port_area: 0.004 mm2, energy: 130 fJ/bit, leakage: 8.4 pW/bit}
    memory: {stack: 4 GiB, stack_area: 100 mm2, controller_area: 5 mm2, links_per_stack: 1024, links_per_mm: 400 /mm, frequency: 1.38 GHz, voltage: 1.2 V, threshold: 0.4 V, margin: 0.6 V, energy: 4.2 pJ/bit, leakage: 0.6 pW/bit}
    inter: {area: 0.045 mm2, links_per_mm: 20 /mm, frequency: 20 GHz, voltage: 1.2 V, threshold: 0.35 V, margin: 0.5 V, energy: 13 pJ/bit, latency: 5 us}
  budget:
    area: {package: 1230 mm2, die: 815 mm2, core: 0.3, L2: 0.1, memory: 0.03, inter: 0.1}
    power: {total: 300 W, core: 0.4, L2: 0.01, memory: 0.16, inter: 0.01}
    edge: {memory: 0.5, inter: 0.5}
  network:
    - {topology: ring, degree: 8, link: inter}
)";

std::string with_replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE_MESSAGE(at != std::string::npos, what);
  return text.replace(at, what.size(), by);
}

Config chip_config(const std::string& text) { return parse_config(text, "c.yaml"); }

TEST_CASE("a technology and a budget make a machine") {
  const Config config = chip_config(kChip);
  REQUIRE(config.chip.has_value());
  CHECK(config.chip->infeasible.empty());
  const Machine& system = config.problem.system;
  CHECK(system.accelerator.cores == 643);
  CHECK(system.accelerator.lanes == 8);
  CHECK(system.accelerator.sram == config.chip->levels[0].capacity);
  CHECK(system.memory[0].capacity == Bytes(4.0 * 4294967296.0));
  CHECK(system.network[0].bandwidth > BytesPerSecond(1e9));
  CHECK(system.network[0].latency == Seconds());
  CHECK(config.problem.execution.compute_utilization == 0.85);
  CHECK(system.power.accelerator == config.chip->drawn());
  CHECK(!config.problem.execution.levels);
}

TEST_CASE("what is given goes before what is derived") {
  std::string text = with_replaced(kChip, "  network:",
                                   "  accelerator: {cores: 500, frequency: 1 GHz, sram: 7 MB}\n"
                                   "  memory: {bandwidth: 1 TB/s, capacity: 12 GB}\n"
                                   "  levels: {L2: {capacity: 3 MB, bandwidth: 2 TB/s}}\n"
                                   "  network:");
  text = with_replaced(text, "link: inter}", "link: inter, bandwidth: 30 GB/s, latency: 1 us}");
  text += "execution: {compute_utilization: 0.5}\npower: {accelerator: 200}\n";
  const Config config = chip_config(text);
  const Machine& system = config.problem.system;
  CHECK(system.accelerator.cores == 500);
  CHECK(system.accelerator.frequency == Hertz(1e9));
  CHECK(system.accelerator.sram == Bytes(7e6));
  CHECK(system.memory[0].bandwidth == BytesPerSecond(1e12));
  CHECK(system.memory[0].capacity == Bytes(12e9));
  CHECK(system.levels.at(0).share == Bytes(3e6));
  CHECK(system.levels.at(0).bandwidth == BytesPerSecond(2e12));
  CHECK(system.network[0].bandwidth == BytesPerSecond(30e9));
  CHECK(system.network[0].latency == Seconds(1e-6));
  CHECK(config.problem.execution.compute_utilization == 0.5);
  CHECK(system.power.accelerator == Watts(200.0));
  CHECK(config.chip->links[1]->ports == 0);
}

TEST_CASE("a machine without a technology may have its levels written out") {
  const Config config = chip_config(
      "workload: {kind: graph, kernels: [{name: A, kind: elementwise}], tensors: []}\n"
      "system:\n  chips: 1\n"
      "  accelerator: {cores: 32, lanes: 2, stages: 2, bundle: 8, frequency: 1 GHz, sram: 1 MB}\n"
      "  memory: {bandwidth: 1 GB/s}\n"
      "  levels:\n"
      "    registers: {scope: core, capacity: 64 MB, bandwidth: 9 TB/s}\n"
      "    L1: {scope: bundle, capacity: 4 MB, bandwidth: 3 TB/s, latency: 2 ns}\n"
      "execution: {levels: true}\n");
  const auto& levels = config.problem.system.levels;
  REQUIRE(levels.size() == 2);
  CHECK(levels[0].name == LevelName::Registers);
  CHECK(levels[0].share == Bytes(2e6));
  CHECK(levels[1].share == Bytes(1e6));
  CHECK(levels[1].bandwidth == BytesPerSecond(3e12));
  CHECK(levels[1].latency == Seconds(2e-9));
  CHECK(config.problem.execution.levels);
  CHECK(!config.design.has_value());
}

TEST_CASE("parts of a technology come from files, whose names count from where they stand") {
  const test::TemporaryDirectory directory;
  const auto write = [&](const std::string& name, const std::string& text) {
    directory.write(name, text);
  };
  const std::string text = kChip;
  const auto map_of = [&](const std::string& key) {
    const std::size_t at = text.find("{", text.find("    " + key + ": "));
    return text.substr(at, text.find("\n", at) - at) + "\n";
  };
  write("core.yaml", map_of("core"));
  write("memory.yaml", map_of("memory"));
  write("whole.yaml", "core: {from: core.yaml, area: 0.5 mm2}\nmemory: {from: memory.yaml}\nL2: " +
                          map_of("L2") + "inter: " + map_of("inter"));
  std::string config = text.substr(0, text.find("    core: ")) +
                       "    from: whole.yaml\n    core: {lanes: 16}\n" +
                       text.substr(text.find("  budget:"));
  write("c.yaml", config);
  const Config loaded = load_config(directory.path() / "c.yaml", {});
  CHECK(loaded.design->technology.core.lanes == 16);
  CHECK(loaded.design->technology.core.stages == 8);
  CHECK(loaded.design->technology.core.area == Area(0.5));
  write("other.yaml", with_replaced(map_of("core"), "stages: 8", "stages: 4"));
  const Config other =
      load_config(directory.path() / "c.yaml", {"system.technology.core.from=other.yaml"});
  CHECK(other.design->technology.core.stages == 4);
  CHECK(other.design->technology.core.area == Area(0.5));
}

TEST_CASE("a chip alone needs neither a workload nor a number of chips") {
  const test::TemporaryDirectory directory;
  std::string text = kChip;
  text = with_replaced(text.substr(text.find("system:")), "  chips: 8\n", "");
  directory.write("c.yaml", text);
  const Config config = load_chip_config(directory.path() / "c.yaml", {});
  CHECK(config.chip.has_value());
  CHECK(config.problem.system.chips == 8);
}

TEST_CASE("a chip that cannot be built is told by budget and by how much") {
  struct Misfit {
    const char* what;
    const char* by;
    BudgetClass budget;
    double needed;
    double available;
  };
  for (const Misfit& c : {
           Misfit{"core: 0.3,", "core: 0.001,", BudgetClass::DieArea, 8 * 0.38, 0.815},
           Misfit{"core: 0.3,", "core: 0.9,", BudgetClass::DieArea, 1.13 * 815.0, 815.0},
           Misfit{"core: 0.4,", "core: 0,", BudgetClass::Power, 0.0, 0.0},
           Misfit{"memory: 0.03", "memory: 4 mm2", BudgetClass::DieArea, 5.0, 4.0},
           Misfit{"package: 1230 mm2", "package: 900 mm2", BudgetClass::Package, 100.0, 85.0},
           Misfit{"edge: {memory: 0.5", "edge: {memory: 0", BudgetClass::Edge, 1.0 / 400.0, 0.0},
           Misfit{"inter: 0.5}", "inter: 0.7}", BudgetClass::Edge, 1.2 * 114.19281938896158,
                  114.19281938896158},
           Misfit{"inter: 0.01}", "inter: 0}", BudgetClass::Power, 0.0, 0.0},
       }) {
    CAPTURE(c.by);
    const Config config = chip_config(with_replaced(kChip, c.what, c.by));
    REQUIRE(config.chip->infeasible.size() == 1);
    const Shortage& shortage = config.chip->infeasible[0];
    CHECK(shortage.budget == c.budget);
    CHECK(shortage.needed == doctest::Approx(c.needed).epsilon(1e-12));
    CHECK(shortage.available == doctest::Approx(c.available).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace dfsearch
