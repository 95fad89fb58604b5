#pragma once
// The results of every kind of question as JSON (docs/results.md; of executions docs/calculon.md,
// section 2).

#include <string>
#include <vector>

#include "engine/calculon/find_execution.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/training/find_plan.hpp"
#include "io/predict/serving_table.hpp"
#include "io/result/outcome.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// Tree of an answer, for headers that do not show the library of JSON.  It is printed last.
struct AnswerJson {
  Json tree;
};

// One object in SI base units that always has every key; null where there is no value.  All that
// depends on time or threads is in its "search".  Throws InternalError for a negative number that
// is no difference (answer_rows.hpp).

/// The text of this object is a mapping file as well (io/result/answer_files.hpp).
Json answer_json(const Outcome& outcome);
Json answer_json(const training::Task& task, const training::PlanResult& result);
Json answer_json(const calculon::Task& task, const calculon::ExecutionResult& result);
/// `fleet` without models: of the task alone.
Json answer_json(const serving::Task& task, const serving::Fleet& fleet,
                 const std::vector<MeasuredPoint>& measured, const serving::ServingResult& result);

/// The keys of a result that are decisions, as events of better answers have them.
Json decisions_json(const Mapping& mapping);
Json decisions_json(const training::Task& task, const training::Plan& plan);
Json decisions_json(const calculon::Task& task, const calculon::Execution& execution);
Json decisions_json(const serving::Task& task, const serving::Deployment& deployment);

template <class... Args>
std::string result_json(const Args&... args) requires requires {
  answer_json(args...);
}
{ return json_text(answer_json(args...)); }

}  // namespace dfsearch
