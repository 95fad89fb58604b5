#pragma once
// Answers of the program to a config, and violations that checks of the answers find.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "engine/search_result.hpp"
#include "engine/training/find_plan.hpp"
#include "io/config/load_config.hpp"
#include "physics/random_configs.hpp"

namespace dfsearch::test {

struct MappingAnswer {
  Config config;
  SearchResult result;
};
struct PlanAnswer {
  TrainingConfig config;
  training::PlanResult result;
};

/// The answer to any other question: an execution of Calculon's model, a deployment, a front or a
/// fleet, a mapping onto chips from budgets, stages that divide a graph.
struct ResultAnswer {
  Json result;  ///< as docs/results.md has it
};
/// A point of a study, as its row says it.
struct StudyRow {
  Json config;
  Json result;
};
struct StudyAnswer {
  std::vector<StudyRow> rows;
};

/// An answer to a question of any kind.
struct Answer {
  Json config;  ///< what was asked, with what its files say
  std::variant<MappingAnswer, PlanAnswer, ResultAnswer, StudyAnswer> of;
  SearchStatus status = SearchStatus::NoSolution;
  double step = 0.0;         ///< seconds; infinite without an answer
  double lower_bound = 0.0;  ///< no answer takes less; infinite if nothing fits

  [[nodiscard]] bool found() const {
    return status == SearchStatus::Optimal || status == SearchStatus::Feasible;
  }
};

/// Solved on one thread with a limited number of nodes, so the same every time; nothing for a
/// config that is refused.
std::optional<Answer> answer_to(const Json& config);

/// The answer to a config in a file, within a time.  Throws InputError.
Answer answer_to_file(const std::filesystem::path& file, Seconds most);

/// A limit that an answer breaks: the value must have been at least `limit`.
struct Violation {
  std::string check;
  double limit = 0.0;
  double got = 0.0;
};

/// Differences within this share are roundings: of durations to ticks (docs/model.md, section 11)
/// and of sums.
inline constexpr double kRounding = 1e-9;

inline bool is_less(double a, double b) { return a < b * (1.0 - kRounding); }

inline std::optional<Violation> at_least(const char* what, double limit, double got) {
  if (!is_less(got, limit)) return std::nullopt;
  return Violation{what, limit, got};
}

/// One check of an answer: returns the violation, if any.
using Check = std::function<std::optional<Violation>(const Json& config, const Answer& answer)>;

struct NamedCheck {
  std::string name;
  Check check;
};

/// Every answer can be written, which refuses negative sizes, times, shares and rates.
const std::vector<NamedCheck>& sign_checks();

/// The least config that can be made of this one, by leaving out keys and making numbers smaller,
/// that still breaks the check in the same way.
Json shrunk(Json config, const Check& check, const std::string& violation);

}  // namespace dfsearch::test
