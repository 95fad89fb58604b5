#pragma once
// The plan of the least objective (step time, energy or their product), or of the least regret, and
// the reason if a task has no plan at all.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/units.hpp"
#include "engine/plan/step_search.hpp"
#include "engine/search_result.hpp"
#include "engine/training/plan_space.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/ruled_out.hpp"
#include "model/scope.hpp"
#include "model/training/evaluate.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

struct NoPlan {
  /// Keys of the config such that leaving out any single one of them allows plans.
  std::vector<std::string> pins;
  /// The smallest set of unsupported features that some plan has; only if there are plans without a
  /// framework.
  std::vector<std::string_view> unsupported;
  /// The framework supports some plan, but numbers its ranks in another order.
  bool other_ranks = false;
};

/// Throws Stopped.
NoPlan why_no_plan(const Task& task, const Deadline& deadline);

struct FoundPlan : Proof {
  std::optional<Plan> plan;
  std::optional<Cost> cost;
  Fusions fusions;  ///< of the plan; empty where kernels run one by one
};

/// A given choice such that some plan fits if this choice alone is left open.
struct Remedy {
  std::string_view key;         ///< the key in `parallelism`, `workload` or `training`
  std::optional<Role> role;     ///< the role, if the choice is a degree
  Plan plan;                    ///< a plan that fits
  Bytes needed{};               ///< memory of its fullest stage
  bool with_data = false;       ///< the number of replicas must change as well
  bool without_layers = false;  ///< the given layers must be left out as well
};

/// A plan that fits, and the bytes on its fullest stage.
struct FittingPlan {
  Plan plan;
  Bytes needed{};
};

/// A change of one number of the config with which some plan fits, or the range of this number in
/// which none fits.
struct NumberChange {
  enum class Kind : std::uint8_t { Memory, SecondMemory, Chips, Sequence, Batch };
  Kind kind;
  double given = 0.0;
  double tried = 0.0;  ///< the least value with a plan; without any, the last insufficient value
  std::optional<FittingPlan> with;
  bool is_nearest = false;  ///< proved: no value between the given one and this is enough
  std::optional<Role> also = std::nullopt;  ///< the role whose given degree changes with it
};

/// The plan that is the nearest to fitting if none fits: its fullest stage needs the least share of
/// a chip's memory.
struct NearestMisfit {
  Plan plan;
  Misfit misfit;
  std::vector<Remedy> remedies;  ///< each alone makes some plan fit
  std::vector<NumberChange> changes = {};
  /// Whether all numbers were tried before any limit; nothing if changes were not requested.
  std::optional<bool> changes_complete = std::nullopt;
};

/// The step times of a plan with all constants of its stack at their low and at their high ends
/// (docs/truth.md, section 6).
struct StepInterval {
  Seconds low{};
  Seconds high{};
};

/// The plan of least regret: regret is the greatest loss against the best plan of a scenario, over
/// all scenarios (docs/truth.md, section 6).  `cost` is the cost with typical times; `lower_bound`
/// and `gap` refer to 1 + regret.
struct RobustPlan : FoundPlan {
  struct ScenarioTimes {
    std::string scenario;
    Seconds least{};         ///< proved: no plan is faster
    Seconds best{};          ///< least step of the known plans
    Seconds typical_best{};  ///< step of the plan that is best with typical times
    Seconds robust{};        ///< step of this plan
  };
  std::vector<ScenarioTimes> outcomes;  ///< the typical scenario first
  double regret = 0.0;                  ///< proved upper bound; infinite if nothing is known
  std::int64_t nodes = 0;               ///< sum over all searches for this plan

  /// The scenario in which the best typical plan loses most against the best known plan.
  [[nodiscard]] const ScenarioTimes& worst_of_typical() const;
};

/// A built-in stack with which some plan of a task without a stack fits.
struct FittingSoftware {
  std::string stack;
  memory::Verdict verdict = memory::Verdict::Fits;
  Bytes needed{};  ///< memory of such a plan: typical, or at the low end for Verdict::MayNotFit
};

struct PlanResult : FoundPlan, StepSearchReport {
  /// The level of the memory constants at which plans had to fit.  If it is Low though another
  /// level was required, no plan fits at the required level, and the status of a plan is no proof.
  memory::Level decided = memory::Level::Typical;
  /// Options without which the plan does not fit; its status is then no proof.
  LeanOptions assumed;
  /// For a misfit without a stack, if a stack could replace the textbook formulas of memory: the
  /// built-in stacks with which some plan fits, by verdict, then by bytes.  The status is
  /// Infeasible only if the list is empty.  Set by io/solve/enough_numbers.cpp, not by `find_plan`.
  std::optional<std::vector<FittingSoftware>> software;
  std::optional<BestWithoutFramework> any_framework;  ///< for a task with a framework, if requested
  std::optional<Seconds> hint;           ///< step time of the hint; infinite: not searched
  std::optional<StepInterval> interval;  ///< of the best plan; nothing without a stack
  std::optional<RobustPlan> robust;      ///< if requested and there is a plan
  std::vector<FoundPlan> alternatives;   ///< with other degrees, best first
  std::optional<NearestMisfit> misfit;   ///< for Infeasible, unless there is no plan at all
  std::optional<NoPlan> no_plan;         ///< for Infeasible, if there is no plan at all
  std::int64_t fusions_searched = 0;     ///< number of passes of parts whose fusion was searched
};

/// The winner is costed again by `evaluate`; a difference is an InternalError.  Only a task with a
/// stack has a robust plan.  Without a stack, Infeasible is proved only for the textbook formulas
/// of memory.
PlanResult find_plan(const Task& task, const StepSearch& search);

/// The decisions that the choices or the framework of the task do not allow.
RuledOut ruled_out(const Task& task, const Plan& plan);

/// True if the search may find the plan.  The search also leaves out allowed plans, such as
/// schedules that are never better.
bool is_searched(const Task& task, const Plan& plan);

/// `typical` is the result of the search with typical times, which has a plan; the limits of
/// `search` hold for both searches together, and no listener is called.
RobustPlan find_robust_plan(const Task& task, const StepSearch& search, const PlanResult& typical);

}  // namespace dfsearch::training
