// Configs with `training`: what they say, and where their rates come from.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/config/plan_configs.hpp"
#include "support/temporary_directory.hpp"

namespace dfsearch {
namespace {

using test::config_of;
using test::kGoodPlan;
using test::Overrides;
using test::replaced;
using test::task_of;
using test::TemporaryDirectory;
using training::Role;
using training::Task;

TEST_CASE("what a config of plans says is read") {
  const Task task = task_of({"workload.micro_batch=2", "workload.mask=causal",
                             "system.memory.second={capacity: 1 TB, bandwidth: 32 GB/s}",
                             "system.network.0.strategy=context", "execution.overlap=perfect",
                             "training.data_overlap=no", "training.gradient=2 B",
                             "training.sent_gradient=4 B", "training.optimizer=8 B"});
  CHECK(task.model.hidden == 64);
  CHECK(task.model.layers == 12);
  CHECK(task.pass.tokens == 32);
  CHECK(task.pass.fused);
  CHECK(task.pass.causal);
  CHECK(task.global_batch == 64);
  CHECK(task.choices.micro_batches == std::vector<std::int64_t>{2});
  CHECK(task.machine.chips == 16);
  // 4 cores of 2 x 2 units, two FLOP each a cycle; the vector engine has half of that.
  CHECK(task.machine.matrix.peak == FlopsPerSecond(32e9));
  CHECK(task.machine.vector.peak == FlopsPerSecond(16e9));
  CHECK(task.machine.matrix.efficiency.share(Flops(2e9)) == 0.9);
  CHECK(task.machine.matrix.efficiency.share(Flops(5e8)) == 0.1);
  CHECK(task.machine.vector.efficiency.share(Flops(5e8)) == 1.0);
  CHECK(task.machine.memory[0].capacity == Bytes(80e9));
  CHECK(task.machine.memory[0].bandwidth == BytesPerSecond(1e12));
  REQUIRE(task.machine.second_memory() != nullptr);
  CHECK(task.machine.memory[1].capacity == Bytes(1e12));
  CHECK(task.machine.memory[1].bandwidth == BytesPerSecond(32e9));
  REQUIRE(task.machine.network.size() == 2);
  CHECK(task.machine.network[0].degree == 8);
  CHECK(task.machine.network[0].latency == Seconds(5e-6));
  CHECK(task.machine.network[1].degree == 2);  // what the first one leaves
  CHECK(task.choices.network == std::vector<std::optional<Role>>{Role::Context, std::nullopt});
  CHECK(task.overlap == Overlap::Perfect);
  CHECK_FALSE(task.data_overlap);
  CHECK(task.bytes.gradient == 2.0);
  CHECK(task.bytes.sent == 4.0);
  CHECK(task.bytes.optimizer == 8.0);
}

TEST_CASE("what a plan may be is read, one value or several") {
  const Overrides unfused = {"workload.attention=unfused",
                             "system.memory.second={capacity: 1 TB, bandwidth: 32 GB/s}"};
  const auto choices_of = [&](const char* training) {
    Overrides overrides = unfused;
    overrides.push_back(std::string("training=") + training);
    return task_of(overrides).choices;
  };
  const training::Choices one = choices_of(
      "{schedule: interleaved, chunks: 3, recompute: selective, layout: least_kept, zero: 2, "
      "layers: [6, 6], offload: [weights, optimizer]}");
  CHECK(one.schedules == std::vector{training::Schedule::Interleaved});
  CHECK(one.chunks == std::vector<std::int64_t>{3});
  CHECK(one.recomputes == std::vector{training::Recompute::Selective});
  CHECK(one.layouts == std::vector{training::TensorLayout::LeastKept});
  CHECK(one.zeros == std::vector{2});
  CHECK(one.layers == std::vector<std::int64_t>{6, 6});
  CHECK(one.offload == Offload{.weights = true, .optimizer = true});
  const training::Choices lists = choices_of(
      "{schedule: [1f1b, zb_h1, gpipe], chunks: [1, 2], recompute: [none, full], "
      "layout: [least_sent, least_kept, front_2], zero: [0, 1, 3], offload: none}");
  using training::Schedule;
  CHECK(lists.schedules ==
        std::vector{Schedule::OneForwardOneBackward, Schedule::ZeroBubble, Schedule::GPipe});
  CHECK(lists.chunks == std::vector<std::int64_t>{1, 2});
  CHECK(lists.recomputes == std::vector{training::Recompute::None, training::Recompute::Full});
  using training::TensorLayout;
  CHECK(lists.layouts ==
        std::vector{TensorLayout::LeastSent, TensorLayout::LeastKept, training::front_layout(2)});
  CHECK(lists.zeros == std::vector{0, 1, 3});
  CHECK(lists.offload == Offload{});
}

TEST_CASE("what is left out is open, or as it mostly is") {
  const Task task = config_of(replaced(kGoodPlan, "training:\n  data_overlap: yes", "training: {}"),
                              {"execution=null"})
                        .task;
  const training::Choices& choices = task.choices;
  CHECK(choices.micro_batches.empty());
  CHECK(choices.layouts.empty());
  CHECK(choices.recomputes.empty());
  CHECK(choices.zeros.empty());
  CHECK(choices.schedules.empty());
  CHECK(choices.chunks.empty());
  CHECK(choices.layers.empty());
  CHECK_FALSE(choices.offload.has_value());
  for (const Role role : training::kRoles) {
    CHECK(choices.degrees[static_cast<std::size_t>(role)].allows(12345));
  }
  CHECK(task.data_overlap);
  CHECK(task.overlap == Overlap::None);
  CHECK(task.bytes.gradient == 4.0);
  CHECK(task.bytes.sent == 2.0);
  CHECK(task.bytes.optimizer == 12.0);
  CHECK(task.machine.matrix.efficiency.share(Flops(1.0)) == 1.0);
  CHECK_FALSE(task.machine.second_memory() != nullptr);
}

TEST_CASE("degrees of roles are single, listed or ranges") {
  const Task task = task_of({"parallelism={tensor: 4, context: [1, 2], data: 2.., pipeline: ..2}"});
  const auto allows = [&](Role role, std::int64_t degree) {
    return task.choices.degrees[static_cast<std::size_t>(role)].allows(degree);
  };
  CHECK((allows(Role::Tensor, 4) && !allows(Role::Tensor, 2)));
  CHECK((allows(Role::Context, 2) && !allows(Role::Context, 4)));
  CHECK((allows(Role::Data, 16) && !allows(Role::Data, 1)));
  CHECK((allows(Role::Pipeline, 2) && !allows(Role::Pipeline, 4)));
  CHECK(allows(Role::Expert, 8));
}

TEST_CASE("limits of the search are read") {
  const TrainingConfig config =
      config_of(kGoodPlan, {"search={gap: 0.01, time_limit: 2 min, memory_limit: 1 GiB}"});
  CHECK(config.search.gap == 0.01);
  CHECK(config.search.time_limit == Seconds(120.0));
  CHECK(config.search.memory_limit == Bytes(1073741824.0));
}

TEST_CASE("rates may come from files, relative to the file that says them") {
  const TemporaryDirectory directory;
  directory.write("rates/a.yaml",
                  "matrix: {peak: 5 TFLOP/s, efficiency: [[0 FLOP, 0.5]]}\n"
                  "vector: {peak: 1 TFLOP/s, efficiency: [[0 FLOP, 0.25]]}\n"
                  "memory: {efficiency: [[1 MB, 0.75], [0 B, 0.5]]}\n"
                  "second: {efficiency: [[0 B, 0.125]]}\n");
  directory.write("rates/b.yaml", "from: a.yaml\nvector: {efficiency: [[0 FLOP, 0.0625]]}\n");
  directory.write("machines/with_second.yaml",
                  "from: plain.yaml\nmemory: {second: {capacity: 1 TB, bandwidth: 1 GB/s}}\n");
  const std::string good = kGoodPlan;
  const std::size_t system = good.find("system:\n"), execution = good.find("execution:\n");
  std::string machine = good.substr(system + 8, execution - system - 8);
  for (std::size_t at = machine.find("\n  "); at != std::string::npos;
       at = machine.find("\n  ", at + 1)) {
    machine.erase(at + 1, 2);
  }
  directory.write("machines/plain.yaml", machine.substr(2));
  const auto load = [&](const std::string& lines, const Overrides& overrides = {}) {
    directory.write("configs/c.yaml", good.substr(0, system) +
                                          "system: {from: ../machines/with_second.yaml}\n" + lines +
                                          "training: {}\n");
    return std::get<TrainingConfig>(
               load_any_config(directory.path() / "configs" / "c.yaml", overrides))
        .task.machine;
  };
  const auto check_file_a = [](const Machine& read) {
    CHECK(read.matrix.peak == FlopsPerSecond(5e12));
    CHECK(read.matrix.efficiency.share(Flops(1.0)) == 0.5);
    CHECK(read.memory[0].efficiency.share(Bytes(2e6)) == 0.75);
    CHECK(read.memory[0].efficiency.share(Bytes(1e3)) == 0.5);
    REQUIRE(read.second_memory() != nullptr);
    CHECK(read.memory[1].efficiency.share(Bytes(1.0)) == 0.125);
  };
  for (const char* lines : {"execution: {efficiency: ../rates/a.yaml}\n",
                            "execution: {efficiency: {from: ../rates/a.yaml}}\n"}) {
    CAPTURE(lines);
    const Machine read = load(lines);
    check_file_a(read);
    CHECK(read.vector.peak == FlopsPerSecond(1e12));
    CHECK(read.vector.efficiency.share(Flops(1.0)) == 0.25);
  }
  // A file with keys on top of it, one based on another file, or both.
  const Machine on_top =
      load("execution: {efficiency: {from: ../rates/b.yaml, vector: {peak: 2 TFLOP/s}}}\n");
  check_file_a(on_top);
  CHECK(on_top.vector.peak == FlopsPerSecond(2e12));
  CHECK(on_top.vector.efficiency.share(Flops(1.0)) == 0.0625);
  // The command line counts from the folder of the config, and its keys go on top of files.
  for (const char* word :
       {"execution.efficiency=../rates/b.yaml", "execution.efficiency.from=../rates/b.yaml"}) {
    for (const char* lines :
         {"execution: {efficiency: ../rates/a.yaml}\n", "execution: {efficiency: {}}\n"}) {
      CAPTURE(word);
      CAPTURE(lines);
      const Machine read = load(lines, {"execution.efficiency.matrix.peak=3 TFLOP/s", word});
      CHECK(read.matrix.peak == FlopsPerSecond(3e12));
      CHECK(read.vector.efficiency.share(Flops(1.0)) == 0.0625);
    }
  }
  const Machine flat = load("", {"execution.compute_utilization=0.5", "system.memory.second=null"});
  CHECK(flat.matrix.efficiency.share(Flops(1.0)) == 0.5);
  CHECK(flat.vector.efficiency.share(Flops(1e15)) == 0.5);
  CHECK(flat.second_memory() == nullptr);
  CHECK_THROWS_WITH_AS(load("execution: {efficiency: none.yaml}\n"),
                       doctest::Contains("c.yaml:11:25: from: "), InputError);
}

}  // namespace
}  // namespace dfsearch
