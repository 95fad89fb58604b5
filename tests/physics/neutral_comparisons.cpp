// Equivalent configs take the same time.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "model/training/plan.hpp"
#include "physics/changes.hpp"
#include "physics/comparisons.hpp"

namespace dfsearch::test {
namespace {

/// The step of another config is this one times a factor.
NamedCheck same(const std::string& name, double factor, Change change) {
  const std::string what = "the same: " + name;
  return {what,
          [what, factor, change = std::move(change)](
              const Json& config, const Answer& answer) -> std::optional<Violation> {
            Json changed = config;
            if (!change(changed)) return std::nullopt;
            const auto other = answer_to(changed);
            if (!other) return Violation{what + " (refused)", answer.step, 0.0};
            if (answer.found() && is_less(answer.step * factor, other->lower_bound)) {
              return Violation{what + " (slower)", answer.step * factor, other->lower_bound};
            }
            if (other->found() && is_less(other->step, answer.lower_bound * factor)) {
              return Violation{what + " (faster)", answer.lower_bound * factor, other->step};
            }
            return std::nullopt;
          }};
}

Change with_dimension(bool inner, const char* topology, const char* bandwidth) {
  return [=](Json& config) {
    Json& system = config["system"];
    if (!system.contains("network")) system["network"] = Json::array();
    Json& network = system["network"];
    if (network.size() > 2) return false;
    Json dimension = {
        {"topology", topology}, {"degree", 1}, {"bandwidth", bandwidth}, {"latency", "1000000 ns"}};
    network.insert(inner ? network.begin() : network.end(), dimension);
    return true;
  };
}

bool double_all_rates(Json& config) {
  Json& system = config["system"];
  raise(system["accelerator"], "frequency", 2.0, "Hz");
  Json& memory = system["memory"];
  raise(memory, "bandwidth", 2.0, "B/s");
  if (memory.contains("second")) raise(memory["second"], "bandwidth", 2.0, "B/s");
  if (!system.contains("network")) return true;
  for (Json& dimension : system["network"]) {
    raise(dimension, "bandwidth", 2.0, "B/s");
    if (dimension.contains("latency")) return false;
  }
  return true;
}

/// The kernels of a graph in another order; operands are said, as they would follow the order.
bool reverse_kernels(Json& config) {
  Json& workload = config["workload"];
  if (workload["kind"] != "graph" ||
      value_or<std::string>(config["execution"], "style", "") == "kernel_by_kernel") {
    return false;
  }
  std::reverse(workload["kernels"].begin(), workload["kernels"].end());
  return true;
}

/// Two layers of one model as one graph: whatever the layers do one by one they do so as well.
std::optional<Violation> two_layers_as_one(const Json& config, const Answer& answer) {
  const auto* of = std::get_if<MappingAnswer>(&answer.of);
  if (!of || !answer.found()) return std::nullopt;
  const Json& workload = config["workload"];
  const std::string kind = workload["kind"];
  if (!kind.starts_with("llm") || kind == "llm_training" || workload.contains("repeat_layers") ||
      workload["layers"].get<int>() % 2 != 0) {
    return std::nullopt;
  }
  for (const Mapping::Dimension& dimension : of->result.mapping->network) {
    if (dimension.strategy == Strategy::Pipeline && dimension.degree > 1) return std::nullopt;
  }
  Json changed = config;
  changed["workload"]["repeat_layers"] = 2;
  changed["execution"]["overlap"] =
      value_or<std::string>(changed["execution"], "overlap", "perfect");
  if (changed["execution"].contains("partitions")) {
    Json& partitions = changed["execution"]["partitions"];
    partitions = 2 * partitions.get<int>();
  }
  const auto other = answer_to(changed);
  if (!other) return Violation{"two layers as one graph are no slower (refused)", answer.step, 0.0};
  return no_better_than("two layers as one graph are no slower", answer, *other);
}

/// Two memories of the same rate and one of both capacities.
bool join_memories(Json& config) {
  Json& memory = config["system"]["memory"];
  if (config.contains("training") || !memory.contains("second") ||
      memory["second"]["bandwidth"] != memory["bandwidth"]) {
    return false;
  }
  memory["capacity"] =
      quantity(amount(memory["capacity"]) + amount(memory["second"]["capacity"]), "B");
  memory.erase("second");
  return true;
}

std::vector<NamedCheck> make_neutral_checks() {
  return {{"two layers as one graph are no slower", two_layers_as_one},
          same("two memories of one rate are one", 1.0, join_memories),
          same("an inner dimension of one chip", 1.0, with_dimension(true, "ring", "1 B/s")),
          same("an outer dimension of one chip", 1.0, with_dimension(false, "switch", "1 B/s")),
          same("an outer dimension of one chip with fast links", 1.0,
               with_dimension(false, "fully_connected", "1000000000000000 B/s")),
          same("half of the step with twice all rates", 0.5, double_all_rates),
          same("kernels in another order", 1.0, reverse_kernels)};
}

}  // namespace

const std::vector<NamedCheck>& neutral_checks() {
  static const std::vector<NamedCheck> checks = make_neutral_checks();
  return checks;
}

}  // namespace dfsearch::test
