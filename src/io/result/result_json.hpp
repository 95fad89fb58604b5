#pragma once
// The results of all kinds of configs as JSON (docs/results.md; for executions docs/calculon.md,
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

/// Tree of an answer, for headers that do not include the JSON library.  It is printed last.
struct AnswerJson {
  Json tree;
};

// One object in SI base units that always has every key; missing values are null.  Only its
// "search" depends on time or threads.  Throws InternalError for a negative number that is no
// difference (answer_rows.hpp).

/// The text of this object is a mapping file as well (io/result/answer_files.hpp).
Json answer_json(const Outcome& outcome);
Json answer_json(const training::Task& task, const training::PlanResult& result);
Json answer_json(const calculon::Task& task, const calculon::ExecutionResult& result);
/// The result of the task alone if `fleet` has no models.
Json answer_json(const serving::Task& task, const serving::Fleet& fleet,
                 const std::vector<MeasuredPoint>& measured, const serving::ServingResult& result);

/// The keys of a result that are decisions, for events of better answers.
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
