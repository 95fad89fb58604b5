// The question of deployments, and the report of a fleet.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/report/report.hpp"
#include "io/report/report_words.hpp"
#include "io/report/serving_words.hpp"
#include "model/serving/requests.hpp"

namespace dfsearch {

using serving::Role;
using serving::Task;

Sheet asked_text(const Task& task) {
  const serving::Means means(task.requests);
  std::string asked = fmt::format("{:.6g} tokens in, {:.6g} out", means.input, means.output);
  if (means.fresh < means.input) asked += fmt::format(", {:.6g} cached", means.input - means.fresh);
  if (task.rate) asked += fmt::format("; {:.6g} requests/s", *task.rate);
  if (task.concurrency) asked += fmt::format("; {:.6g} at once", *task.concurrency);
  if (task.num_requests) asked += fmt::format("; a job of {:.6g} at once", *task.num_requests);
  const auto& precisions = task.precisions;
  const std::string numbers =
      precisions.size() > 1 ? fmt::format("{} precisions", precisions.size())
                            : fmt::format("weights {}, cache {}", name_of(precisions[0].weights),
                                          name_of(precisions[0].cache));
  Sheet text =
      labelled("workload", fmt::format("llm_serving: {}, hidden {}, {} parameters; {}",
                                       plural(task.model.layers, "layer"), task.model.hidden,
                                       to_exact_text(parameter_count(task.model)), numbers));
  text += labelled("requests", asked);
  return text + pool_lines(task);
}

Sheet report_text(const serving::Fleet& fleet, const serving::ServingResult& result,
                  const std::string& title) {
  const Task& first = fleet.models.front();
  Sheet text = title_line(title);
  for (std::size_t m = 0; m < fleet.models.size(); ++m) {
    const Task& task = fleet.models[m];
    const serving::Means means(task.requests);
    text += labelled(fleet.names[m],
                     fmt::format("{} parameters; {:.6g} tokens in, {:.6g} out; {:.6g} requests/s",
                                 to_exact_text(parameter_count(task.model)), means.input,
                                 means.output, *task.rate));
    if (has_guessed_rates(task)) text += guessed_line(*task.model.mixed);
  }
  text += pool_lines(first) + labelled("objective", name_of(first.objective)) + "\n";
  double price = 0.0, power = 0.0;
  std::vector<std::int64_t> used(first.pools.size());
  const auto count = [&](const Role& role, std::int64_t times) {
    const serving::Pool& pool = first.pools[role.structure.pool];
    const std::int64_t chips = times * role.chips();
    used[role.structure.pool] += chips;
    price += serving::real(chips) * pool.price;
    power += serving::real(chips) * pool.power.in_base_units();
  };
  Sheet parts;
  for (const serving::FleetMember& part : result.fleet) {
    count(part.deployment.decode, part.count);
    if (part.deployment.mode == serving::Mode::Disaggregated) {
      count(part.deployment.prefill, part.count);
    }
    const serving::Figures& of_one = part.figures;
    std::string figures = "first token " + time_text(of_one.ttft);
    if (of_one.tpot > 0.0) figures += ", each after it " + time_text(of_one.tpot);
    if (of_one.joule_per_token > 0.0) {
      figures += fmt::format(", {:.4g} J for a token", of_one.joule_per_token);
    }
    parts +=
        labelled(fleet.names[part.model],
                 fmt::format("{} times {:.5g} requests/s, {}: {}", part.count, of_one.capacity,
                             figures, deployment_text(fleet.models[part.model], part.deployment)));
  }
  if (result.status == SearchStatus::Optimal || result.status == SearchStatus::Feasible) {
    std::string chips;
    for (std::size_t p = 0; p < used.size(); ++p) {
      chips += fmt::format("{}{} of {} {}", p > 0 ? ", " : "", used[p],
                           plural(first.pools[p].chips, "chip"), first.pools[p].name);
    }
    const char* sure =
        result.is_given ? "a fleet that was given, which serves all rates" : "optimal, proved";
    std::string sums;  // of what pools were given
    if (price > 0.0) sums += fmt::format("{:.6g} $/h, ", price);
    if (power > 0.0) sums += to_text(Watts(power)) + ", ";
    text += labelled("result", fmt::format("{}; {}{}", sure, sums, chips));
  } else if (result.is_given) {
    text += labelled("result", "the fleet is ruled out");
  } else if (result.status == SearchStatus::Infeasible) {
    text += labelled("result", "infeasible, proved: no mix of deployments serves all rates") +
            remedy_lines(first, result);
  } else if (result.stopped_by == StopReason::None) {
    text += labelled("result", "nothing found to fit, " + constants_text(first)) +
            remedy_lines(first, result);
  } else {
    text += labelled("result", stop_text(result.stopped_by) + " before the proof");
  }
  text += parts + framework_lines(first, result);
  if (result.is_given) return text;
  return text + "\n" +
         labelled("search",
                  fmt::format("{} deployments for different chips, {} sums in {}", result.leaves,
                              result.stats.nodes, to_text(result.stats.time)));
}

}  // namespace dfsearch
