// The measured deployments that the answers for a model and a system rest on.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "io/predict/serving_table.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/measured_class.hpp"

namespace dfsearch {

std::string support_text(const std::string& model, const std::string& system) {
  for (const auto& [kind, name] :
       {std::pair(ShelfKind::Workloads, model), std::pair(ShelfKind::Systems, system)}) {
    if (!find_on_shelf(kind, name)) throw InputError(not_on_shelf(kind, name));
  }
  std::string text, none;
  for (const ShelfFile& engine : shelf(ShelfKind::Engines)) {
    if (!runs_on(engine.name, system)) continue;
    const std::string config = fmt::format(
        "workload: {{kind: llm_serving, model: {}, input: 2, output: 2}}\nserving: {{pools: "
        "[{{name: chips, chips: 1, system: {{from: {}, engine: {}}}}}]}}\n",
        model, system, engine.name);
    const serving::Task task = std::get<ServingConfig>(parse_any_config(config, "support")).task;
    const bool has_experts = task.model.experts.has_value();
    TextTable table({"measured", "off %", "bias %", "beyond 40 %", "deployments"});
    std::size_t rows = 0;
    for (const serving::MeasuredClass& each : task.pools[0].engine.measured) {
      const auto other =
          has_experts ? serving::MeasuredKind::Dense : serving::MeasuredKind::Experts;
      if (each.kind == other) continue;
      table.add({std::to_string(each.rows), fmt::format("{:.0f}", 100.0 * each.off),
                 fmt::format("{:+.0f}", 100.0 * each.bias), std::to_string(each.beyond)},
                {text_of(each)});
      ++rows;
    }
    if (rows == 0) {
      none += fmt::format("{}: none was measured of models {}\n", engine.name,
                          has_experts ? "with experts" : "without experts");
      continue;
    }
    text += fmt::format("{}{}: time per token, of a job its throughput\n{}",
                        text.empty() ? "" : "\n", engine.name, table.text());
  }
  if (text.empty() && none.empty()) {
    return fmt::format("{}: no deployment was measured on this system\n", system);
  }
  return text + (text.empty() || none.empty() ? "" : "\n") + none;
}

}  // namespace dfsearch
