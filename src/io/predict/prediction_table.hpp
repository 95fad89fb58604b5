#pragma once
// Tables of predictions beside measurements.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/predict/prediction_errors.hpp"
#include "io/predict/serving_table.hpp"
#include "model/serving/cache_room.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch {

/// A row for each run, comma-separated, with a header: times in seconds, memory in GiB, the error
/// as a share of what was measured.
std::string prediction_csv(const std::vector<MeasuredRun>& runs, const Predictions& predictions);

/// Errors by each of the groups; pairs of plans of one model in the right order; runs that fit; the
/// `worst` runs that are farthest off.
std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              const std::vector<RunGroup>& groups, std::size_t worst);

struct ServicePrediction {
  serving::Figures figures;
  serving::PartTimes parts{};  ///< of the time per token, seconds
  serving::CacheRoom room;     ///< its memory at each level, and the verdict on it
  serving::MeasuredClass kind;
};

/// One for each deployment, nothing where it has no task.  Uses the threads of the arena that
/// calls.
std::vector<std::optional<ServicePrediction>> predict_services(
    const std::vector<MeasuredService>& services);

/// A row for each, comma-separated, with a header: times in milliseconds, memory in GB, errors as
/// shares of what was measured.
std::string service_csv(const std::vector<MeasuredService>& services,
                        const std::vector<std::optional<ServicePrediction>>& predictions);

/// Errors of both times by kind, engine, model and system; deployments that are not predicted, with
/// the reason; the `worst` ones that are farthest off.
std::string service_report(const std::vector<MeasuredService>& services,
                           const std::vector<std::optional<ServicePrediction>>& predictions,
                           std::size_t worst);

}  // namespace dfsearch
