#include "fuzz/config_properties.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "engine/calculon/find_execution.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "fuzz/fuzz_target.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/graph_text.hpp"
#include "io/report/report.hpp"
#include "io/result/result_json.hpp"

namespace dfsearch::fuzz {
namespace {

// Whole models of tens of thousands of kernels are as right as small ones, and
// slow to read.
constexpr std::size_t kMostKernels = 300;

/// A machine of one chip for each copy of a workload: whatever the workload is, the
/// machine allows it.
std::string machine_for(const Workload& workload) {
  return "system:\n  chips: " + std::to_string(workload.copies) +
         "\n  accelerator: {cores: 1, lanes: 1, stages: 1, frequency: 1 GHz, sram: 1 GB}\n"
         "  memory: {bandwidth: 1 GB/s}\n"
         "  network: [{topology: ring, degree: 1, bandwidth: 1 GB/s}]\n";
}

std::uint64_t fingerprint_of(const Workload& workload) {
  Problem problem;
  problem.workload = workload;
  const Fingerprint fingerprint = dfsearch::fingerprint_of(problem);
  return std::find_if(fingerprint.begin(), fingerprint.end(),
                      [](const auto& part) { return part.first == "workload"; })
      ->second;
}

Config read_back(const std::string& text, const std::string& what) {
  try {
    return parse_config(text, "tests/again.yaml");
  } catch (const InputError& error) {
    throw Finding("what dfsearch writes (" + what + ") it reads: " + error.what() + "\n" + text);
  }
}

void check_graph_text(const Problem& problem) {
  const Workload& workload = problem.workload;
  const std::string machine = machine_for(workload);
  const std::string yaml = graph_yaml(workload);
  const Workload again = read_back(yaml + machine, "graph").problem.workload;
  require(fingerprint_of(again) == fingerprint_of(workload), "a graph reads back:\n" + yaml);
  require(graph_yaml(again) == yaml, "a graph is written the same way again:\n" + yaml);
  // Since JSON is YAML, one text may hold both: the map's end makes room for the machine.
  std::string json = graph_json(workload);
  json.resize(json.rfind('}'));
  json += ", \"system\": {\"chips\": " + std::to_string(workload.copies) +
          ", \"accelerator\": {\"cores\": 1, \"lanes\": 1, \"stages\": 1, \"frequency\": \"1 GHz\","
          " \"sram\": \"1 GB\"}, \"memory\": {\"bandwidth\": \"1 GB/s\"}, \"network\":"
          " [{\"topology\": \"ring\", \"degree\": 1, \"bandwidth\": \"1 GB/s\"}]}";
  json += "}";
  const Workload same = read_back(json, "graph as JSON").problem.workload;
  require(fingerprint_of(same) == fingerprint_of(workload), "a graph reads back:\n" + json);
}

/// Long enough to meet whole answers.
template <class Search>
Search short_search() {
  constexpr std::int64_t kNodes = 50;
  Search search;
  search.limits = {.deadline = Deadline(Seconds(0.1)), .nodes = kNodes};
  return search;
}

template <class Result>
void require_finite(const Result& result) {
  if (!result.cost) return;
  const double time = result.cost->step_time.in_base_units();
  require(time > 0.0 && std::isfinite(time), "a step takes some finite time");
}

}  // namespace

void check_config(const Config& config) {
  require(!asked_text(config.problem).empty(), "a problem can be described");
  const DataflowGraph& graph = config.problem.workload.graph;
  if (graph.kernel_count() > kMostKernels || graph.tensor_count() > kMostKernels) return;
  check_graph_text(config.problem);
}

void check_task(const calculon::Task& task) {
  const auto search = short_search<StepSearch>();
  const calculon::ExecutionResult result = calculon::find_execution(task, search);
  require(!report_text(task, result, "input").empty(), "a result can be reported");
  require(!result_json(task, result).empty(), "a result can be written");
  require_finite(result);
}

void check_task(const training::Task& task) {
  const training::PlanResult result = training::find_plan(task, short_search<StepSearch>());
  require(!asked_text(task).empty(), "a task can be described");
  require(!report_text(task, result, "input").empty(), "a result can be reported");
  require(!result_json(task, result).empty(), "a result can be written");
  require_finite(result);
}

void check_task(const serving::Task& task) {
  const auto search = short_search<serving::ServingSearch>();
  serving::ServingResult result;
  try {
    result = find_deployment(task, search);
  } catch (const InputError&) {
    return;  // nothing to choose from
  }
  require(!asked_text(task).empty(), "a task can be described");
  require(!report_text(task, result, "input").empty(), "a result can be reported");
  require(!answer_json(task, {}, {}, result).empty(), "a result can be written");
}

}  // namespace dfsearch::fuzz
