// What is pinned is never faster than what is free.

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

using Pin = std::function<bool(Json& config, const MappingAnswer& answer)>;
using PlanPin = std::function<bool(Json& config, const PlanAnswer& answer)>;

/// The best answer stays the same if its own decision is pinned.
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
      pins[kernels[i].name] = loop_name(answer.result.mapping->sharding[i].loops[0]);
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
    const Offload& offload = answer.result.plan->offload;
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

}  // namespace

const std::vector<NamedCheck>& pin_checks() {
  static const std::vector<NamedCheck> checks = make_pin_checks();
  return checks;
}

}  // namespace dfsearch::test
