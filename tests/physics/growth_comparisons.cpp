// More of anything is never slower.

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

bool raise_count(Json& map, const char* key, std::int64_t factor) {
  map[key] = map[key].get<std::int64_t>() * factor;
  return true;
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
  // Traffic is spread in proportion to the capacities (docs/model.md (7)), so a larger slow tier
  // takes more of it where all data crosses memory.
  checks.push_back(more("memory.second.capacity", [second](Json& config) {
    const std::string kind = config["workload"].value("kind", "");
    return kind != "fft" && kind != "hpl" && second("capacity", 2.0, "B")(config);
  }));
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
               // Each link alone is as fast as the switch's link.
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

}  // namespace

const std::vector<NamedCheck>& growth_checks() {
  static const std::vector<NamedCheck> checks = make_growth_checks();
  return checks;
}

}  // namespace dfsearch::test
