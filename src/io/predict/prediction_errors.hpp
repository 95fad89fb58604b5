#pragma once
// Errors of predictions against measurements.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/words.hpp"
#include "io/predict/run_table.hpp"
#include "io/predict/serving_table.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/pass.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {

struct Prediction {
  training::RunTime typical;
  Seconds low{}, high{};  ///< all classes of constants at their low, or high, values
};

/// A prediction for each run, nothing for runs without a task.  Uses the threads of the calling
/// arena.
std::vector<std::optional<Prediction>> predict_runs(const std::vector<MeasuredRun>& runs);

using Predictions = std::vector<std::optional<Prediction>>;

/// Groups of errors of times.
enum class RunGroup : std::uint8_t { Source, Model, Chip, Size };
constexpr auto words(RunGroup) {
  return named<RunGroup>({{"source", RunGroup::Source},
                          {"model", RunGroup::Model},
                          {"gpu", RunGroup::Chip},
                          {"gpus", RunGroup::Size}});
}

/// Whether a run counts for the errors of times.
bool is_timed(const MeasuredRun& run);
/// Errors of times, as shares of the measured ones.
double error_of(const MeasuredRun& run, const Prediction& prediction);
/// Predicted GiB on the measured stage: the reserved memory of the allocator, fragments included,
/// or the allocated memory if that was measured.
double allocator_gib(const MeasuredRun& run, const Prediction& prediction,
                     memory::Level level = memory::Level::Typical);
/// The source of a run, a file or paper, without its version and the place in it.
std::string short_source(const MeasuredRun& run);

/// The parts of the time of a run.
inline constexpr std::array<std::pair<std::string_view, Seconds training::StepParts::*>, 10>
    kRunParts = {{{"compute", &training::StepParts::compute},
                  {"recompute", &training::StepParts::recompute},
                  {"tensor", &training::StepParts::tensor},
                  {"context", &training::StepParts::context},
                  {"expert", &training::StepParts::expert},
                  {"pipeline", &training::StepParts::pipeline},
                  {"bubble", &training::StepParts::bubble},
                  {"data", &training::StepParts::data},
                  {"optimizer", &training::StepParts::optimizer},
                  {"host", &training::StepParts::host}}};
/// The greatest part and its share.
std::pair<std::string_view, double> largest_part(const training::RunTime& time);

/// Errors as shares; `held` is the share of runs within their intervals.
struct GroupErrors {
  std::string name;
  std::size_t runs = 0;
  double error = 0.0, median = 0.0, bias = 0.0, worst = 0.0, held = 0.0;
};
/// Errors of all runs, then of each group; empty if none was timed.
std::vector<GroupErrors> errors_by(const std::vector<MeasuredRun>& runs,
                                   const Predictions& predictions, RunGroup group);

/// Errors of runs whose models have blocks of guessed rates, by model and blocks; no other group
/// contains these runs.
std::vector<GroupErrors> errors_of_guesses(const std::vector<MeasuredRun>& runs,
                                           const Predictions& predictions);

/// Errors without the runs of one source, for each source with at least a tenth of all runs, and
/// last without the two greatest sources; empty with fewer than three sources.
std::vector<GroupErrors> errors_without_a_source(const std::vector<MeasuredRun>& runs,
                                                 const Predictions& predictions);

/// Pairs of plans of one model, batch and machine, each with the mean time of its runs: the share
/// of pairs in the right order, and the excess time of the plan that is predicted best over the
/// measured best.
struct PlanOrder {
  std::string name;
  std::size_t pairs = 0;
  double right = 0.0, regret = 0.0;
};
std::vector<PlanOrder> orders_of_plans(const std::vector<MeasuredRun>& runs,
                                       const Predictions& predictions);

/// Runs that ran, runs out of memory, and how many of them each level refuses.  `measured` runs
/// have a known peak, `within` of them between the low and the high end; `error` and `bias` are
/// shares.
struct MemoryErrors {
  struct Refused {
    std::size_t runs = 0;
    memory::ByLevel<std::size_t> at{};

    [[nodiscard]] double share(memory::Level level) const {
      return static_cast<double>(at[level]) / static_cast<double>(std::max<std::size_t>(runs, 1));
    }
  };
  Refused ran, out_of_memory;
  std::size_t measured = 0, within = 0;
  double error = 0.0, bias = 0.0;
};
MemoryErrors memory_errors(const std::vector<MeasuredRun>& runs, const Predictions& predictions);

/// The factor on the time of the largest part with which the step would take the measured time, all
/// else as predicted; nothing if no such factor exists.
std::optional<double> factor_of_largest_part(const MeasuredRun& run, const Prediction& prediction);

/// Indices of timed runs that are faster than their model at the peak of all chips.
std::vector<std::size_t> beyond_peak(const std::vector<MeasuredRun>& runs);

/// Indices of timed runs, the greatest errors first.
std::vector<std::size_t> farthest_off(const std::vector<MeasuredRun>& runs,
                                      const Predictions& predictions, std::size_t most);

// Tables of predictions beside measurements.

/// A row for each run, comma-separated, with a header: times in seconds, memory in GiB, the error
/// as a share of the measured time.
std::string prediction_csv(const std::vector<MeasuredRun>& runs, const Predictions& predictions);

/// Errors by each of the groups; pairs of plans in the right order; verdicts on memory; the `worst`
/// runs with the greatest errors.
std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              const std::vector<RunGroup>& groups, std::size_t worst);

struct ServicePrediction {
  serving::Figures figures;
  serving::PartTimes parts{};  ///< of the time per token, seconds
  serving::CacheRoom room;     ///< its memory at each level, and the verdict on it
  serving::MeasuredClass kind;
};

/// A prediction for each deployment, nothing for one without a task.  Uses the threads of the
/// calling arena.
std::vector<std::optional<ServicePrediction>> predict_services(
    const std::vector<MeasuredService>& services);

/// A row for each, comma-separated, with a header: times in milliseconds, memory in GB, errors as
/// shares of the measured values.
std::string service_csv(const std::vector<MeasuredService>& services,
                        const std::vector<std::optional<ServicePrediction>>& predictions);

/// Errors of both times by kind, engine, model and system; deployments that are not predicted, with
/// the reason; the `worst` deployments with the greatest errors.
std::string service_report(const std::vector<MeasuredService>& services,
                           const std::vector<std::optional<ServicePrediction>>& predictions,
                           std::size_t worst);

}  // namespace dfsearch
