#pragma once
// The search for the best deployment, or for the front: the one public entry of this folder.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "engine/search_result.hpp"
#include "engine/tables/search_bounds.hpp"
#include "engine/tree/tree_search.hpp"
#include "model/ruled_out.hpp"
#include "model/scope.hpp"
#include "model/serving/deployment.hpp"

namespace dfsearch::serving {

/// The relative resolution of values and of times per token.  Closer values are ties, which the
/// fewest chips and then the order of deployments break, so the true gap may be as large as this.
inline constexpr double kTie = 1e-9;

struct ServingSearch {
  dfsearch::Limits limits{};  ///< nodes are intervals of batches
  int threads = 1;
  bool deterministic = false;  ///< one thread
  std::int64_t top = 1;        ///< number of structures, each with its best deployment
  bool count = false;          ///< count the deployments that keep all limits
  SearchBounds bounds{};       ///< whether floors close intervals
  /// Report the gains from a tenth more of each quantity of the chips.
  bool explain = false;
  std::vector<Deployment> known = {};  ///< deployments of a hint or an earlier run
  SearchStats before = {};             ///< spent by earlier runs

  // The listeners, as in SearchOptions.
  std::function<void(const Progress&)> on_progress = nullptr;
  Seconds progress_interval{1.0};
  std::int64_t progress_nodes = 1024;
  std::function<void(const Progress&, const Deployment&)> on_incumbent = nullptr;
  /// Called from time to time if something better was found, and at the end, with the state from
  /// which a later run can continue.
  std::function<void(const std::vector<Deployment>&, const SearchStats&)> on_checkpoint = nullptr;
  Seconds checkpoint_interval{0.5};
};

/// The best deployment found and its proof.
struct FoundDeployment : Proof {
  std::optional<Deployment> deployment;
  std::optional<Figures> figures;  ///< none if the degrees of a given deployment are not allowed
  Score cost = Score::infinity();  ///< the value of the objective, by value_of()
};

struct FrontPoint {
  Deployment deployment;
  Figures figures;
};

/// Why intervals were closed.
enum class Closed : std::uint8_t { Bound, Rate, Chips, Cost, Time };
inline constexpr std::size_t kClosed = 5;
constexpr auto words(Closed) { return named<Closed>("bound", "rate", "chips", "cost", "time"); }

/// A given limit, and the value with which something fits if all else is unchanged.
struct Remedy {
  Broken limit = Broken::Memory;
  double given = 0.0;
  /// The least value of the limit with which something fits, to the last bit (memory: to the byte).
  /// For a rate: a rate that can be served; a rate that is closer to the given one by a millionth
  /// cannot be served.
  double enough = 0.0;
  Deployment deployment;  ///< a deployment that fits then
};

/// A number of a model, a pool or the budget, and a value with which a fleet is proved to fit if
/// all else is unchanged.
struct FleetRemedy {
  std::string limit;  ///< as in the config
  std::string of;     ///< the name of the model or pool; empty: the budget
  double given = 0.0, enough = 0.0;
};

/// The best deployment with 10 % more of one quantity of the chips, all else unchanged.
struct TenthMore {
  std::string_view more;           ///< name of the quantity that is raised by 10 %
  std::size_t pool = 0;            ///< the pool of the chips
  std::optional<FrontPoint> best;  ///< nothing: it was not proved in time
};

/// A number of equal deployments of one model in a fleet.
struct FleetMember {
  std::size_t model = 0;
  std::int64_t count = 1;
  Deployment deployment;
  Figures figures;  ///< figures of one deployment at its capacity
};

struct ServingResult : FoundDeployment, SearchReport {
  bool is_given = false;  ///< the deployment was given, and nothing searched
  /// Deployments with other structures than earlier ones, best first.
  std::vector<FoundDeployment> alternatives;
  std::vector<FrontPoint> front;  ///< of the objective `front`, the fastest for a user first
  /// The best of each mode, if both are searched for a single objective.
  std::array<std::optional<FrontPoint>, 2> best_of_mode;
  std::vector<Remedy> remedies;  ///< for Infeasible
  /// For NoSolution: a deployment that fits at the low end of the memory, though none fits at the
  /// requested level.
  std::optional<FrontPoint> at_low;
  /// For Infeasible: the limits that deployments break; each deployment breaks one of them.
  std::vector<Broken> ruled_out_by;
  std::vector<FleetMember> fleet;  ///< of several models, in their order
  std::vector<FleetRemedy> fleet_remedies;
  std::vector<TenthMore> gains;  ///< if requested, for one objective
  /// For a task with a framework and an answer: the best answer with any framework, and its
  /// deployment or front.
  std::optional<BestWithoutFramework> any_framework;
  std::vector<FrontPoint> of_any;
  double deployments = 0.0;  ///< number of deployments that the choices leave
  std::optional<std::int64_t> feasible;
  std::int64_t leaves = 0;
  std::array<std::int64_t, kClosed> closed{};
  std::array<std::int64_t, kBroken> cut{};  ///< number of batches that each limit rules out
};

/// Whether the memory of a deployment has a low end, at which more may fit than at the level of the
/// task.
bool has_low_end(const Task& task);

/// Throws InputError for choices without any legal structure.  Every answer is costed again by
/// `evaluate`; a difference is an InternalError.
ServingResult find_deployment(const Task& task, const ServingSearch& search);

/// The task without its rate.
Task without_rate(Task task);

/// Finds the best mix of deployments, any number for each model, each at its capacity and within
/// the limits of its task.  Throws InputError if there are too many combinations of numbers of
/// chips.
ServingResult find_fleet(const Fleet& fleet, const ServingSearch& search);

/// The mix with its cost and the figures of each part.  Adds a reason for each decision that its
/// model does not allow, and for each limit, rate, pool and budget that the mix does not keep.  If
/// it keeps all of them at the low end of the memory, it adds no reason, and the status is
/// NoSolution.
ServingResult judged_fleet(const Fleet& fleet, std::vector<FleetMember> parts, RuledOut& reasons);

}  // namespace dfsearch::serving
