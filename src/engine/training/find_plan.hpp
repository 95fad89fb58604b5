#pragma once
// The plan of least time per step, or the plans of least time and memory, and the reason if a
// task has no plan at all.

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
  /// Keys of which leaving out any single one allows plans.
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

/// A given choice that, left open, makes some plan fit.
struct Remedy {
  std::string_view key;         ///< in `parallelism`, `workload` or `training`
  std::optional<Role> role;     ///< of a degree
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

/// A number of the config that, changed alone, makes some plan fit, or the range in which none
/// fits.
struct NumberChange {
  enum class Kind : std::uint8_t { Memory, SecondMemory, Chips, Sequence, Batch };
  Kind kind;
  double given = 0.0;
  double tried = 0.0;  ///< the least sufficient value; without a plan the last insufficient one
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

/// The step of a plan with all constants of its stack at their low and at their high ends
/// (docs/truth.md, section 6).
struct StepInterval {
  Seconds low{};
  Seconds high{};
};

/// The plan of least regret, the greatest loss against the best plan of a scenario over all
/// scenarios (docs/truth.md, section 6).  `cost` is the typical one; `lower_bound` and `gap` refer
/// to 1 + regret.
struct RobustPlan : FoundPlan {
  struct ScenarioTimes {
    std::string scenario;
    Seconds least{};         ///< proved: no plan is faster
    Seconds best{};          ///< of the plans known
    Seconds typical_best{};  ///< of the plan that is best with typical times
    Seconds robust{};        ///< of this one
  };
  std::vector<ScenarioTimes> outcomes;  ///< the typical scenario first
  double regret = 0.0;                  ///< proved upper bound; infinite if nothing is known
  std::int64_t nodes = 0;               ///< of all its searches

  /// The scenario in which the best plan for typical times loses most to the best known one.
  [[nodiscard]] const ScenarioTimes& worst_of_typical() const;
};

/// Software of the shelf that holds some plan of a task without a stack.
struct FittingSoftware {
  std::string stack;
  memory::Verdict verdict = memory::Verdict::Fits;
  Bytes needed{};  ///< of a plan that fits: typical, or at the low end if it may not fit
};

struct PlanResult : FoundPlan, StepSearchReport {
  /// The level of the memory constants at which plans had to fit.  If it is Low though another was
  /// required, none fits at the required level, and the status of a plan is no proof.
  memory::Level decided = memory::Level::Typical;
  /// Options with which the plan fits, but not without; its status is then no proof.
  LeanOptions assumed;
  /// For a misfit without a stack, if a stack could replace the bytes of textbooks: all software of
  /// the shelf with which some plan fits, least bytes first.  The status is Infeasible only if the
  /// list is empty.  `find_plan` leaves it out (io/solve/enough_numbers.cpp).
  std::optional<std::vector<FittingSoftware>> software;
  std::optional<BestWithoutFramework> any_framework;  ///< for a task with a framework, if requested
  std::optional<Seconds> hint;           ///< its step time; infinite: not in the search space
  std::optional<StepInterval> interval;  ///< of the best plan; nothing without a stack
  std::optional<RobustPlan> robust;      ///< if requested and there is a plan
  std::vector<FoundPlan> alternatives;   ///< with other degrees, best first
  std::optional<NearestMisfit> misfit;   ///< for Infeasible, unless there is no plan at all
  std::optional<NoPlan> no_plan;         ///< for Infeasible, if there is no plan at all
  std::int64_t fusions_searched = 0;     ///< passes of parts whose fusion was searched for
};

/// The winner is costed again by `evaluate`; a difference is an InternalError.  Only a task with a
/// stack has a robust plan.  Without a stack, Infeasible is proved only for the bytes of textbooks.
PlanResult find_plan(const Task& task, const StepSearch& search);

/// The decisions that the choices or the framework of the task do not allow.
RuledOut ruled_out(const Task& task, const Plan& plan);

/// True if the search may find the plan; it leaves out more, such as schedules that are never
/// better.
bool is_searched(const Task& task, const Plan& plan);

/// `typical` is the result of the search with typical times, which has a plan; the limits of
/// `search` hold for both together, and no listener is called.
RobustPlan find_robust_plan(const Task& task, const StepSearch& search, const PlanResult& typical);

}  // namespace dfsearch::training
