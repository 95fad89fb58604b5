#include "fuzz/mapping_properties.hpp"

#include <string>
#include <variant>

#include "fuzz/fuzz_target.hpp"
#include "io/config/graph_text.hpp"
#include "io/lp/lp_text.hpp"
#include "io/report/report.hpp"
#include "io/result/answer_files.hpp"
#include "io/result/result_json.hpp"
#include "milp/fusion_model.hpp"
#include "model/evaluate.hpp"

namespace dfsearch::fuzz {
namespace {

/// `expected` is the mapping with the cores that were found for it.
void check_reads_back(const Problem& problem, const Mapping& expected, const Cost& cost,
                      const std::string& json) {
  const auto again = unless_refused([&] { return parse_mapping(json, "result.json", problem); });
  require(again.has_value(), "a result is a mapping file:\n" + json);
  require(*again == expected, "a result holds its mapping:\n" + json);
  const auto verdict = evaluate(problem, *again);
  const Cost* same = std::get_if<Cost>(&verdict);
  require(same != nullptr && same->objective == cost.objective,
          "a mapping that was read back costs the same:\n" + json);
}

}  // namespace

void check_mapping(const Problem& problem, const Mapping& mapping) {
  const auto verdict = unless_refused([&] { return evaluate(problem, mapping); });
  if (!verdict) return;
  const Outcome outcome = Outcome::of(problem, mapping, *verdict);
  require(!report_text(outcome, "input").empty(), "an outcome has a report");
  const std::string json = result_json(outcome);
  if (const Cost* cost = std::get_if<Cost>(&*verdict)) {
    Mapping expected = mapping;
    expected.cores = cost->cores;
    check_reads_back(problem, expected, *cost, json);
  }
  require(!graph_dot(problem.workload, &mapping).empty(), "a mapping can be drawn");
  unless_refused(
      [&] { return lp_text(fusion_model(problem, given_decisions(problem, &mapping))).size(); });
}

}  // namespace dfsearch::fuzz
