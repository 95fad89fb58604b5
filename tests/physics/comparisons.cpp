#include "physics/comparisons.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "model/names.hpp"
#include "model/training/names.hpp"

namespace dfsearch::test {
namespace {

/// A change of a config; false where it has nothing of the kind.
using Change = std::function<bool(Json& config)>;

bool raise(Json& map, const char* key, double factor, const char* unit) {
  if (!map.contains(key)) return false;
  map[key] = quantity(amount(map[key]) * factor, unit);
  return true;
}

bool raise_count(Json& map, const char* key, std::int64_t factor) {
  map[key] = map[key].get<std::int64_t>() * factor;
  return true;
}

/// The answer must be at least what another config can do.
std::optional<Violation> no_better_than(const char* what, const Answer& bad, const Answer& good) {
  // `good` may do whatever `bad` does.  Its bound holds whether it is proved or not.
  if (!bad.found() || !is_less(bad.step, good.lower_bound)) return std::nullopt;
  return Violation{what, bad.step, good.lower_bound};
}

NamedCheck more(std::string name, Change change) {
  const std::string what = "never slower with more: " + name;
  Check check = [what, change = std::move(change)](
                    const Json& config, const Answer& answer) -> std::optional<Violation> {
    if (!answer.found()) return std::nullopt;
    Json changed = config;
    if (!change(changed)) return std::nullopt;
    const auto with_more = answer_to(changed);
    if (!with_more) return Violation{what + " (refused)", answer.step, 0.0};
    return no_better_than(what.c_str(), answer, *with_more);
  };
  return {what, std::move(check)};
}

Change in_network(std::size_t dimension, std::function<bool(Json&)> change) {
  return [dimension, change = std::move(change)](Json& config) {
    Json& system = config["system"];
    if (!system.contains("network") || system["network"].size() <= dimension) return false;
    return change(system["network"][dimension]);
  };
}

std::vector<NamedCheck> make_growth_checks() {
  std::vector<NamedCheck> checks;
  const auto memory = [](const char* key, double factor, const char* unit) {
    return [=](Json& config) { return raise(config["system"]["memory"], key, factor, unit); };
  };
  const auto second = [](const char* key, double factor, const char* unit) {
    return [=](Json& config) {
      Json& all = config["system"]["memory"];
      return all.contains("second") && raise(all["second"], key, factor, unit);
    };
  };
  const auto chip = [](const char* key, std::int64_t factor) {
    return [=](Json& config) { return raise_count(config["system"]["accelerator"], key, factor); };
  };
  checks.push_back(more("memory.capacity", memory("capacity", 2.0, "B")));
  checks.push_back(more("memory.capacity by a tenth", memory("capacity", 1.1, "B")));
  checks.push_back(more("memory.bandwidth", memory("bandwidth", 4.0, "B/s")));
  checks.push_back(more("memory.second.capacity", second("capacity", 2.0, "B")));
  checks.push_back(more("memory.second.bandwidth", [](Json& config) {
    Json& all = config["system"]["memory"];
    if (!all.contains("second")) return false;
    all["second"]["bandwidth"] = all["bandwidth"];
    return true;
  }));
  checks.push_back(more("memory unlimited", [](Json& config) {
    Json& all = config["system"]["memory"];
    if (!all.contains("capacity") || config.contains("training")) return false;
    all.erase("capacity");
    all.erase("second");
    return true;
  }));
  checks.push_back(more("accelerator.sram", [](Json& config) {
    return raise(config["system"]["accelerator"], "sram", 3.0, "B");
  }));
  checks.push_back(more("accelerator.frequency", [](Json& config) {
    return raise(config["system"]["accelerator"], "frequency", 3.0, "Hz");
  }));
  checks.push_back(more("accelerator.cores", chip("cores", 2)));
  checks.push_back(more("accelerator.lanes", chip("lanes", 2)));
  checks.push_back(more("accelerator.stages", chip("stages", 2)));
  for (const std::size_t d : {0U, 1U, 2U}) {
    const std::string at = "network." + std::to_string(d);
    checks.push_back(more(at + ".bandwidth", in_network(d, [](Json& dimension) {
                            return raise(dimension, "bandwidth", 3.0, "B/s");
                          })));
    checks.push_back(more(at + " without latency", in_network(d, [](Json& dimension) {
                            return dimension.erase("latency") > 0;
                          })));
    checks.push_back(
        more(at + ".topology fully_connected for switch", in_network(d, [](Json& dimension) {
               // Every link of it alone is as fast as that of a switch.
               if (dimension["topology"] != "switch") return false;
               dimension["topology"] = "fully_connected";
               return true;
             })));
  }
  checks.push_back(more("compute_utilization", [](Json& config) {
    Json& execution = config["execution"];
    if (!execution.contains("compute_utilization")) return false;
    execution["compute_utilization"] = 1.0;
    return true;
  }));
  checks.push_back(more("partitions", [](Json& config) {
    Json& execution = config["execution"];
    if (!execution.contains("partitions")) return false;
    execution["partitions"] = execution["partitions"].get<int>() + 1;
    return true;
  }));
  return checks;
}

// Pins of the winner.

using Pin = std::function<bool(Json& config, const MappingAnswer& answer)>;
using PlanPin = std::function<bool(Json& config, const PlanAnswer& answer)>;

/// With its own decision pinned the best answer is the same.
std::optional<Violation> same_as_pinned(const std::string& what, const Json& changed,
                                        const Answer& answer) {
  const auto pinned = answer_to(changed);
  if (!pinned) return Violation{what + " (refused)", answer.step, 0.0};
  // What is pinned can be no better than the best, and is no worse than what was found.
  if (pinned->found() && is_less(pinned->step, answer.lower_bound)) {
    return Violation{what + " (pinned is better)", answer.lower_bound, pinned->step};
  }
  if (is_less(answer.step, pinned->lower_bound)) {
    return Violation{what + " (pinned is worse)", answer.step, pinned->lower_bound};
  }
  return std::nullopt;
}

NamedCheck pin(const std::string& name, Pin change) {
  const std::string what = "as free with its own pinned: " + name;
  return {what,
          [what, change = std::move(change)](const Json& config,
                                             const Answer& answer) -> std::optional<Violation> {
            const auto* of = std::get_if<MappingAnswer>(&answer.of);
            Json changed = config;
            if (!answer.found() || !of || !change(changed, *of)) return std::nullopt;
            return same_as_pinned(what, changed, answer);
          }};
}

NamedCheck pin_plan(const std::string& name, PlanPin change) {
  const std::string what = "as free with its own pinned: " + name;
  return {what,
          [what, change = std::move(change)](const Json& config,
                                             const Answer& answer) -> std::optional<Violation> {
            const auto* of = std::get_if<PlanAnswer>(&answer.of);
            Json changed = config;
            if (!answer.found() || !of || !change(changed, *of)) return std::nullopt;
            return same_as_pinned(what, changed, answer);
          }};
}

/// Pinned to something else the answer is no better than free.
NamedCheck otherwise(const std::string& name, Change change) {
  const std::string what = "free is no slower than pinned: " + name;
  return {what,
          [what, change = std::move(change)](const Json& config,
                                             const Answer& answer) -> std::optional<Violation> {
            Json changed = config;
            if (!change(changed)) return std::nullopt;
            const auto pinned = answer_to(changed);
            if (!pinned) return std::nullopt;  // nothing is so
            return no_better_than(what.c_str(), *pinned, answer);
          }};
}

const char* loop_name(Loop loop) {
  switch (loop) {
    case Loop::None:
      return "none";
    case Loop::Outer:
      return "outer";
    case Loop::K:
      return "K";
    case Loop::M:
      return "M";
    case Loop::N:
      return "N";
  }
  return "";
}

const char* offload_name(int what) {
  return what == 0 ? "weights" : what == 1 ? "activations" : "optimizer";
}

void add_mapping_pins(std::vector<NamedCheck>& checks) {
  checks.push_back(pin("network", [](Json& config, const MappingAnswer& answer) {
    Json& system = config["system"];
    if (!system.contains("network")) return false;
    for (std::size_t d = 0; d < system["network"].size(); ++d) {
      const Mapping::Dimension& dimension = answer.result.mapping->network[d];
      system["network"][d]["degree"] = dimension.degree;
      system["network"][d]["strategy"] = name_of(dimension.strategy);
    }
    return true;
  }));
  checks.push_back(pin("micro_batch and tile", [](Json& config, const MappingAnswer& answer) {
    Json& workload = config["workload"];
    const std::string kind = workload["kind"];
    if (!kind.starts_with("llm") && kind != "graph") return false;
    workload["micro_batch"] = answer.result.mapping->micro_batch;
    if (kind != "llm_decode") workload["tile"] = answer.result.mapping->tile;
    return true;
  }));
  checks.push_back(pin("sharding", [](Json& config, const MappingAnswer& answer) {
    Json pins = Json::object();
    const auto& kernels = answer.config.problem.workload.graph.kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (kernels[i].spread != Spread::Tensor) continue;
      pins[kernels[i].name] = loop_name(answer.result.mapping->sharding[i]);
    }
    if (pins.empty()) return false;
    config["sharding"] = {{"pins", pins}};
    return true;
  }));
  checks.push_back(pin("partitions", [](Json& config, const MappingAnswer& answer) {
    if (config["execution"].contains("style")) return false;
    const auto& kernels = answer.config.problem.workload.graph.kernels();
    Json pins = Json::object();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      pins[kernels[i].name] = answer.result.mapping->partition[i];
    }
    config["execution"]["pins"] = pins;
    return true;
  }));
}

void add_plan_pins(std::vector<NamedCheck>& checks) {
  checks.push_back(pin_plan("degrees", [](Json& config, const PlanAnswer& answer) {
    for (const training::Role role : training::kRoles) {
      std::int64_t degree = answer.result.plan->degrees[role];
      if (role == training::Role::Data) degree = answer.result.plan->degrees.replicas();
      config["parallelism"][training::name_of(role)] = degree;
    }
    return true;
  }));
  checks.push_back(pin_plan("micro_batch", [](Json& config, const PlanAnswer& answer) {
    config["workload"]["micro_batch"] = answer.result.plan->micro_batch;
    return true;
  }));
  checks.push_back(pin_plan("layout", [](Json& config, const PlanAnswer& answer) {
    config["training"]["layout"] = training::name_of(answer.result.plan->layout);
    return true;
  }));
  checks.push_back(pin_plan("recompute", [](Json& config, const PlanAnswer& answer) {
    config["training"]["recompute"] = training::name_of(answer.result.plan->recompute);
    return true;
  }));
  checks.push_back(pin_plan("zero", [](Json& config, const PlanAnswer& answer) {
    config["training"]["zero"] = answer.result.plan->zero;
    return true;
  }));
  checks.push_back(pin_plan("schedule and chunks", [](Json& config, const PlanAnswer& answer) {
    config["training"]["schedule"] = training::name_of(answer.result.plan->schedule);
    config["training"]["chunks"] = answer.result.plan->chunks;
    return true;
  }));
  checks.push_back(pin_plan("layers", [](Json& config, const PlanAnswer& answer) {
    config["training"]["layers"] = answer.result.plan->layers;
    return true;
  }));
  checks.push_back(pin_plan("offload", [](Json& config, const PlanAnswer& answer) {
    const training::Offload& offload = answer.result.plan->offload;
    Json list = Json::array();
    const bool given[] = {offload.weights, offload.activations, offload.optimizer};
    for (int i = 0; i < 3; ++i) {
      if (given[i]) list.push_back(offload_name(i));
    }
    config["training"]["offload"] = list.empty() ? Json("none") : list;
    return true;
  }));
}

/// A value for a key of a section that has none yet.
Change given(const char* section, const char* key, Json value, bool plans) {
  return [=](Json& config) {
    if (config.contains("training") != plans) return false;
    if (config.contains(section) && config[section].contains(key)) return false;
    config[section][key] = value;
    return true;
  };
}

Change given_strategy(std::size_t dimension, const char* strategy) {
  return in_network(dimension, [=](Json& d) {
    if (d.contains("strategy")) return false;
    d["strategy"] = strategy;
    return true;
  });
}

/// One kernel that the config chooses, split on a loop or in a partition.
Change given_kernel(const char* section, const Json& value) {
  return [=](Json& config) {
    const Json& workload = config["workload"];
    if (config.contains("training") || config["search"]["sharding"] != "joint" ||
        config["execution"].contains("style")) {
      return false;
    }
    if (!workload.contains("kernels")) return false;
    const Json& kernels = workload["kernels"];
    const std::string name = kernels[config.dump().size() % kernels.size()]["name"];
    config[section]["pins"][name] = value;
    return true;
  };
}

void add_other_pins(std::vector<NamedCheck>& checks) {
  const auto add = [&](const char* section, const char* key, const Json& value, bool plans) {
    checks.push_back(otherwise(std::string(section) + "." + key + "=" + value.dump(),
                               given(section, key, value, plans)));
  };
  for (const bool plans : {false, true}) {
    for (const char* role : {"tensor", "pipeline", "data"}) {
      for (const int degree : {1, 2, 4}) add("parallelism", role, degree, plans);
    }
    for (const int samples : {1, 2, 4}) add("workload", "micro_batch", samples, plans);
  }
  for (const char* role : {"context", "expert"}) {
    for (const int degree : {1, 2}) add("parallelism", role, degree, true);
  }
  for (const int zero : {0, 1, 2, 3}) add("training", "zero", zero, true);
  for (const char* layout : {"least_sent", "least_kept", "front_1", "front_2", "front_3"}) {
    add("training", "layout", layout, true);
  }
  for (const char* recompute : {"none", "selective", "full"}) {
    add("training", "recompute", recompute, true);
  }
  for (const char* schedule : {"1f1b", "interleaved", "zb_h1", "gpipe"}) {
    add("training", "schedule", schedule, true);
  }
  for (const char* what : {"weights", "activations", "optimizer"}) {
    add("training", "offload", Json::array({what}), true);
  }
  for (const std::size_t d : {0U, 1U}) {
    for (const char* strategy : {"tensor", "pipeline", "data"}) {
      checks.push_back(otherwise("network." + std::to_string(d) + ".strategy=" + strategy,
                                 given_strategy(d, strategy)));
    }
  }
  for (const char* loop : {"outer", "M", "K", "N", "none"}) {
    checks.push_back(
        otherwise(std::string("sharding.pins: ") + loop, given_kernel("sharding", loop)));
  }
  for (const int partition : {0, 1}) {
    checks.push_back(otherwise("execution.pins: " + std::to_string(partition),
                               given_kernel("execution", partition)));
  }
  // Another spread of the layers than the one that was found.
  for (const bool first : {true, false}) {
    const std::string what = std::string("free is no slower than pinned: a layer more on the ") +
                             (first ? "first" : "last") + " stage";
    checks.push_back(
        {what, [what, first](const Json& config, const Answer& answer) -> std::optional<Violation> {
           const auto* of = std::get_if<PlanAnswer>(&answer.of);
           if (!of || !answer.found() || config["training"].contains("layers")) return std::nullopt;
           std::vector<std::int64_t> layers = of->result.plan->layers;
           if (layers.size() < 2) return std::nullopt;
           if (!first) std::reverse(layers.begin(), layers.end());
           const auto from = std::max_element(layers.begin() + 1, layers.end());
           if (*from < 1) return std::nullopt;
           --*from;
           ++layers.front();
           if (!first) std::reverse(layers.begin(), layers.end());
           Json changed = config;
           changed["training"]["layers"] = layers;
           const auto pinned = answer_to(changed);
           if (!pinned) return std::nullopt;
           return no_better_than(what.c_str(), *pinned, answer);
         }});
  }
}

std::vector<NamedCheck> make_pin_checks() {
  std::vector<NamedCheck> checks;
  add_mapping_pins(checks);
  add_plan_pins(checks);
  add_other_pins(checks);
  return checks;
}

// What means the same.

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

const std::vector<NamedCheck>& growth_checks() {
  static const std::vector<NamedCheck> checks = make_growth_checks();
  return checks;
}

const std::vector<NamedCheck>& pin_checks() {
  static const std::vector<NamedCheck> checks = make_pin_checks();
  return checks;
}

const std::vector<NamedCheck>& neutral_checks() {
  static const std::vector<NamedCheck> checks = make_neutral_checks();
  return checks;
}

}  // namespace dfsearch::test
