#include "io/report/report_parts.hpp"

#include <doctest/doctest.h>

#include <string>

#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

/// The best mapping of another parallelism that takes `factor` times as long.
BestMapping other(const SearchResult& best, double factor) {
  BestMapping found = best;
  found.mapping->network[0].strategy = Strategy::Data;
  found.cost->step_time = best.cost->step_time * factor;
  found.cost->objective = best.cost->objective * factor;
  found.lower_bound = found.cost->objective;
  return found;
}

SearchResult best() {
  SearchResult result;
  result.status = SearchStatus::Optimal;
  result.mapping = example_mapping();
  result.cost = std::get<Cost>(evaluate(example_problem(), *result.mapping));
  result.cost->step_time = Seconds(2.0);
  result.cost->objective = Score(2.0);
  result.lower_bound = Score(2.0);
  result.parallelisms = 3;
  return result;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("one alternative is a line that tells how far it is") {
  SearchResult result = best();
  result.alternatives = {other(result, 1.25)};
  CHECK(text_of(ranking_text(Objective::StepTime, result)) ==
        "next best     tensor 1, pipeline 2, data 2: 2.5 s, 25 % slower\n");
  result.alternatives[0].status = SearchStatus::Feasible;
  result.alternatives[0].lower_bound = Score(2.1);
  CHECK(text_of(ranking_text(Objective::StepTime, result)) ==
        "next best     tensor 1, pipeline 2, data 2: 2.5 s, 25 % slower; not proved, at least 5 % "
        "slower\n");
  BestMapping unknown;
  unknown.lower_bound = Score(2.1);
  result.alternatives = {unknown};
  CHECK(text_of(ranking_text(Objective::StepTime, result)) ==
        "next best     not found before the search ended; at least 5 % slower\n");
}

TEST_CASE("that nothing else fits is said only where there was a choice") {
  SearchResult result = best();
  CHECK(ranking_text(Objective::StepTime, result).empty());
  result.alternatives_complete = true;
  CHECK(text_of(ranking_text(Objective::StepTime, result)) ==
        "next best     none: no other parallelism fits\n");
  result.parallelisms = 1;
  CHECK(ranking_text(Objective::StepTime, result).empty());
}

TEST_CASE("more of them are a table") {
  SearchResult result = best();
  BestMapping unknown;
  unknown.lower_bound = Score(3.5);
  result.alternatives = {other(result, 1.5), unknown};
  result.alternatives_complete = true;
  const std::string text = text_of(ranking_text(Objective::StepTime, result));
  CHECK(mentions(text, "best parallelisms\n"));
  CHECK(mentions(text, "2 tensor, 2 pipeline\n"));
  CHECK(mentions(text, "2 data, 2 pipeline\n"));
  CHECK(mentions(text, "50 %"));
  CHECK(mentions(text, "> 3.5 s"));
  CHECK(mentions(text, "no other parallelism fits\n"));
}

}  // namespace dfsearch
