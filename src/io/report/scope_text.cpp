#include "io/report/report_parts.hpp"

#include <fmt/format.h>

#include "io/report/report_words.hpp"
#include "io/text/joined.hpp"
#include "io/text/objective_text.hpp"

namespace dfsearch {
namespace {

/// "search.sharding: joint".
std::string keys_of(const Scope& scope) {
  return joined(scope, ", ", [](const FixedBeforehand& fixed) { return fixed.searched_by; });
}

Sheet line(const Scope& scope, const std::string& beyond) {
  return labelled("scope", fmt::format("{} beforehand; {}", names_of(scope), beyond));
}

/// The best mapping with nothing fixed, which is at least as good as the answer.
std::string beyond_text(const SearchResult& result, Objective objective) {
  const BestMapping& beyond = *result.beyond_scope;
  const bool proved = beyond.status == SearchStatus::Optimal;
  if (!beyond.cost) return "nothing fits";
  const std::string value = objective_text(objective, beyond.cost->objective);
  const std::string bound = objective_text(objective, beyond.lower_bound);
  const std::string at_least = proved ? "" : fmt::format(", and at least {}", bound);
  if (!result.cost) return fmt::format("a mapping fits: {}{}", value, at_least);
  if (beyond.cost->objective < result.cost->objective) {
    return (proved ? "the best is " : "at most ") + value + at_least;
  }
  return proved ? "none is better" : fmt::format("no better one is known, and at least {}", bound);
}

}  // namespace

std::string optimal_text(const Scope& scope) {
  return fmt::format("optimal, proved{}: gap 0", proved_for(scope));
}

std::string nothing_fits_text(const Scope& scope, std::string_view none, std::string_view by) {
  return fmt::format("infeasible, proved{}{}: {} fits", proved_for(scope), by, none);
}

Sheet scope_line(const Scope& scope) { return scope.empty() ? "" : line(scope, untried(scope)); }

Sheet scope_line(const SearchResult& result, Objective objective) {
  const auto& beyond = result.beyond_scope;
  if (!beyond || beyond->status == SearchStatus::NoSolution) return scope_line(result.scope);
  return line(result.scope,
              fmt::format("with {} {}", keys_of(result.scope), beyond_text(result, objective)));
}

}  // namespace dfsearch
