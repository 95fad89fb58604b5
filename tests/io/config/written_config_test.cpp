// The writer's text for the objects of all shipped configs is read back to equal objects.

#include <doctest/doctest.h>

#include <string>
#include <variant>

#include "base/error.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/config_readers.hpp"
#include "io/config/config_system.hpp"
#include "io/config/graph_text.hpp"
#include "io/config/load_config.hpp"
#include "io/config/serving_text.hpp"
#include "io/config/shelf.hpp"
#include "io/schema/read_schema.hpp"
#include "io/schema/write_schema.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"

namespace dfsearch {
namespace {

/// `again` has what other sections say.
template <class T>
void check_written(const T& object, T again = {}) {
  const std::string text = json_line(written(object));
  CAPTURE(text);
  const YamlNode tree = parse_yaml(text, "written", true);
  InputMessages messages;
  CHECK(read_object(MapReader(tree, "written", tree.place, messages), again));
  CHECK_NOTHROW(messages.throw_if_any());
  CHECK(json_line(written(again)) == text);
}

void check_config(const Config& config) {
  const Problem& problem = config.problem;
  check_written(problem.execution);
  check_written(problem.equations);
  check_written(ParallelismSection{problem.parallelism});
  check_written(config.search);
  if (config.design) return;  // a chip that is derived has no keys
  check_written(problem.system.accelerator);
  const Machine& machine = problem.system;
  const MemoryTier* second = machine.second_memory();
  MemorySection memory{.first = machine.memory.front(), .second = std::nullopt};
  if (second != nullptr) memory.second = *second;
  check_written(memory);
  for (const NetworkDimension& dimension : problem.system.network) {
    check_written(DimensionSection{.dimension = dimension, .ports = {}});
  }
  Price price;
  price.link.resize(problem.system.network.size());
  check_written(problem.system.price, price);
  Power power;
  power.link.resize(problem.system.network.size());
  check_written(problem.system.power, power);
}

void check_config(const TrainingConfig& config) {
  training::Task task = config.task;
  task.choices = {};
  task.bytes = {};
  task.data_overlap = true;
  check_written(config.task, task);
  check_written(config.task.choices);
  check_written(config.search);
}

void check_config(const ServingConfig& config) {
  check_written(config.task.requests.front());
  check_written(config.task.all);
  check_written(config.task.limits);
  check_written(config.task.utilization);
  for (const serving::Pool& pool : config.task.pools) check_written(pool.engine);
}

void check_config(const CalculonConfig& config) {
  calculon::Task task = config.task;
  task.choices = {};
  check_written(config.task.transformer);
  check_written(config.task, task);
}

/// The text has the machine of the config itself; the switch of shapes may appear in it, too.
void check_graph(const Config& config) {
  const Workload& workload = config.problem.workload;
  const std::string chips = std::to_string(workload.copies);
  const std::string text =
      workload_yaml(workload) + "equations: {shapes: unchecked}\nsystem:\n  chips: " + chips +
      "\n  accelerator: {cores: 1, lanes: 1, stages: 1, frequency: 1 GHz, sram: 1 MB}\n"
      "  memory: {bandwidth: 1 GB/s}\n"
      "  network: [{topology: ring, degree: 1, bandwidth: 1 GB/s}]\n";
  Problem again;
  Problem same;
  again.workload = parse_config(text, "written.yaml").problem.workload;
  same.workload = workload;
  CHECK(fingerprint_of(again) == fingerprint_of(same));
  CHECK(again.workload.counts == workload.counts);
}

}  // namespace

TEST_CASE("what is written of all shipped configs is read back") {
  int graphs = 0;
  int others = 0;
  for (const ShelfFile& file : shelf(ShelfKind::Configs)) {
    CAPTURE(file.name);
    AnyConfig config;
    try {
      config = parse_any_config(std::string(file.text), file.source());
    } catch (const InputError&) {
      continue;  // of a chip alone
    }
    std::visit([](const auto& each) { check_config(each); }, config);
    const auto* mapping = std::get_if<Config>(&config);
    ++(mapping ? graphs : others);
    if (mapping) check_graph(*mapping);
  }
  CHECK(graphs > 60);
  CHECK(others > 15);
}

}  // namespace dfsearch
