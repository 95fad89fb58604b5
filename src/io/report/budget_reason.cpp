#include "io/report/budget_reason.hpp"

#include "io/report/chip_text.hpp"
#include "io/report/infeasible_text.hpp"
#include "io/text/joined.hpp"

namespace dfsearch {

const std::vector<Shortage>& shortages_of(const Outcome& outcome) {
  static const std::vector<Shortage> none;
  if (outcome.split != nullptr) return outcome.split->shortages;
  return outcome.chip != nullptr ? outcome.chip->infeasible : none;
}

std::string budget_reason(const Outcome& outcome) {
  if (outcome.status != SearchStatus::Infeasible) return "";
  const std::string lacks = joined(shortages_of(outcome), "; ", shortage_text);
  if (outcome.split == nullptr) return lacks.empty() ? "" : "there is no such chip: " + lacks;
  const std::string none = "no split of the budgets makes a chip";
  if (!lacks.empty()) return none + "; with the most that each part can have: " + lacks;
  std::string text = none + " onto which a mapping fits";
  if (outcome.infeasible == nullptr) return text;
  return text + "; with the most of everything that any has: " +
         infeasible_text(*outcome.problem, *outcome.infeasible);
}

}  // namespace dfsearch
