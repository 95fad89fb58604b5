// Limits on every chip that a budget makes, and on every mapping onto it.
//
// A part gets its share of the die, of the power and of the edge of the die.  Cores, banks and
// wires take their areas; each of their operations takes its energy at the least voltage, since
// less voltage only makes them slower.

#include <algorithm>
#include <cmath>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

struct Made {
  const Json& technology;
  const Json& budget;
  const Json& chip;
  const Json& result;
  const Json& config;

  Made(const Json& of, const Json& result_)
      : technology(of["system"]["technology"]),
        budget(of["system"]["budget"]),
        chip(result_["chip"]),
        result(result_),
        config(of) {}

  /// What a part has of a class, as was given or found.
  [[nodiscard]] double amount_of(const char* kind, const char* part) const {
    const Json& given = budget.value(kind, Json::object());
    double total = 0.0;
    if (kind == std::string("area")) total = amount(given["die"]);
    if (kind == std::string("power")) total = amount(given["total"]);
    if (kind == std::string("edge")) total = 4.0 * std::sqrt(amount(budget["area"]["die"]));
    if (given.contains(part)) {
      return given[part].is_number() ? given[part].get<double>() * total : amount(given[part]);
    }
    const Json& split = result["split"];
    return split.is_object() ? count_of(split[kind], part, 0.0) * total : 0.0;
  }
  /// Whether the config gives a value itself, which goes before the derived one.
  [[nodiscard]] bool gives(const char* part, const char* key) const {
    return config["system"].value(part, Json::object()).contains(key);
  }
  /// The share of the energy at a part's nominal voltage that it takes at the least one.
  static double least_energy(const Json& part) {
    const double least = amount(part["threshold"]) + amount(part["margin"]);
    return std::pow(std::min(1.0, least / amount(part["voltage"])), 2.0);
  }
  [[nodiscard]] double peak() const {
    const Json& core = technology["core"];
    const double lanes = 2.0 * count_of(core, "lanes") * count_of(core, "stages");
    const double joule = amount(core["power"]) / amount(core["frequency"]) * least_energy(core);
    return lanes * amount_of("power", "core") / joule * count_of(core, "utilization");
  }
  [[nodiscard]] double memory_bandwidth() const {
    const Json& memory = technology["memory"];
    const double bits =
        amount_of("power", "memory") / (amount(memory["energy"]) * least_energy(memory));
    return bits / 8.0 * count_of(memory, "utilization");
  }
};

NamedCheck budget_limit(const char* name,
                        std::function<std::optional<Violation>(const Made&)> check) {
  return {
      name,
      [check = std::move(check)](const Json&, const Answer& answer) -> std::optional<Violation> {
        const Json& config = answer.config;
        const auto* of = std::get_if<ResultAnswer>(&answer.of);
        if (!of || !answer.found() || !config.contains("system") ||
            !config["system"].contains("technology")) {
          return std::nullopt;
        }
        return check(Made(config, of->result));
      }};
}

std::vector<NamedCheck> make_budget_limits() {
  std::vector<NamedCheck> checks;
  const auto add = [&](const char* name, std::function<std::optional<Violation>(const Made&)> c) {
    checks.push_back(budget_limit(name, std::move(c)));
  };
  add("budget: cores over their area", [](const Made& x) -> std::optional<Violation> {
    if (x.gives("accelerator", "cores")) return std::nullopt;
    const Json& core = x.technology["core"];
    return at_least("budget: cores over their area",
                    count_of(x.chip["core"], "cores") * amount(core["area"]),
                    x.amount_of("area", "core"));
  });
  add("budget: FLOP over the power of the cores", [](const Made& x) -> std::optional<Violation> {
    if (x.gives("accelerator", "frequency")) return std::nullopt;
    return at_least("budget: FLOP over the power of the cores", count_of(x.chip["core"], "usable"),
                    x.peak());
  });
  add("budget: on-chip memory over its area", [](const Made& x) -> std::optional<Violation> {
    for (const Json& level : x.chip["levels"]) {
      const std::string name = level["name"];
      const Json& of = x.technology[name];
      const double area = count_of(level, "capacity") * 8.0 * amount(of["cell_area"]);
      if (auto v =
              at_least("budget: on-chip memory over its area", area,
                       (1.0 - count_of(of, "overhead", 0.0)) * x.amount_of("area", name.c_str()))) {
        return v;
      }
    }
    return std::nullopt;
  });
  add("budget: bandwidth on the chip over its power",
      [](const Made& x) -> std::optional<Violation> {
        for (const Json& level : x.chip["levels"]) {
          const std::string name = level["name"];
          const double watts =
              count_of(level, "bandwidth") * 8.0 * amount(x.technology[name]["energy"]);
          if (auto v = at_least("budget: bandwidth on the chip over its power", watts,
                                x.amount_of("power", name.c_str()))) {
            return v;
          }
        }
        return std::nullopt;
      });
  add("budget: stacks of memory in the package", [](const Made& x) -> std::optional<Violation> {
    if (x.gives("memory", "capacity")) return std::nullopt;
    const Json& memory = x.technology["memory"];
    const Json& area = x.budget["area"];
    const double stacks =
        std::min((amount(area["package"]) - amount(area["die"])) / amount(memory["stack_area"]),
                 x.amount_of("area", "memory") / amount(memory["controller_area"]));
    return at_least("budget: stacks of memory in the package",
                    count_of(x.chip["memory"], "capacity"), stacks * amount(memory["stack"]));
  });
  add("budget: bandwidth of the memory over its power and edge",
      [](const Made& x) -> std::optional<Violation> {
        if (x.gives("memory", "bandwidth")) return std::nullopt;
        const Json& memory = x.technology["memory"];
        const double wires = x.amount_of("edge", "memory") * amount(memory["links_per_mm"]);
        double most = x.memory_bandwidth();
        if (memory.contains("maximum_voltage")) {
          const auto speed = [&](double volt) {
            return std::pow(volt - amount(memory["threshold"]), 2.0) / volt;
          };
          const double hertz = amount(memory["frequency"]) *
                               speed(amount(memory["maximum_voltage"])) /
                               speed(amount(memory["voltage"]));
          most = std::min(most, wires * hertz / 8.0);
        }
        return at_least("budget: bandwidth of the memory over its power and edge",
                        count_of(x.chip["memory"], "bandwidth"), most);
      });
  add("budget: links over their power and edge", [](const Made& x) -> std::optional<Violation> {
    for (const auto& [name, link] : x.chip["links"].items()) {
      const Json& of = x.technology[name];
      const double bits =
          x.amount_of("power", name.c_str()) / (amount(of["energy"]) * Made::least_energy(of));
      if (auto v = at_least("budget: links over their power and edge", count_of(link, "bandwidth"),
                            bits / 8.0)) {
        return v;
      }
      if (auto v = at_least("budget: links over their power and edge", count_of(link, "wires"),
                            x.amount_of("edge", name.c_str()) * amount(of["links_per_mm"]))) {
        return v;
      }
    }
    return std::nullopt;
  });
  add("budget: parts have no more than there is", [](const Made& x) -> std::optional<Violation> {
    for (const char* kind : {"area", "power"}) {
      double sum = 0.0;
      for (const char* part : {"core", "registers", "L1", "L2", "memory", "intra", "inter"}) {
        sum += x.amount_of(kind, part);
      }
      const double total = kind == std::string("area") ? amount(x.budget[kind]["die"])
                                                       : amount(x.budget[kind]["total"]);
      if (auto v = at_least("budget: parts have no more than there is", sum, total)) return v;
    }
    return std::nullopt;
  });
  add("budget: FLOP and weights over what power and edge allow",
      [](const Made& x) -> std::optional<Violation> {
        if (x.gives("accelerator", "frequency") || x.gives("memory", "bandwidth"))
          return std::nullopt;
        // The machine that the budget makes at most, as a config has it.
        Json machine = {{"workload", x.config["workload"]}, {"system", x.config["system"]}};
        machine["system"]["peak"] = x.peak();
        machine["system"]["accelerator"] = {{"sram", count_of(x.result["machine"], "sram")}};
        machine["system"]["memory"] = {{"bandwidth", x.memory_bandwidth()}};
        return at_least("budget: FLOP and weights over what power and edge allow",
                        least_step(machine), count_of(x.result, "step_time"));
      });
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& budget_limits() {
  static const std::vector<NamedCheck> checks = make_budget_limits();
  return checks;
}

}  // namespace dfsearch::test
