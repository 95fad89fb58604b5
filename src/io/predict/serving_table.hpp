#pragma once
// A table of measured serving deployments as comma-separated values, one in each row
// (docs/serving.md, section 8).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/predict/csv_table.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/task.hpp"

namespace dfsearch {

/// A deployment at its load, and its measurements.
struct MeasuredService {
  std::string id, source, backend, model, system;
  serving::Deployment deployment;
  /// The task of the deployment; nothing if `unknown` names a thing that is not on the shelf.
  std::optional<serving::Task> task;
  std::string engine;  ///< of the shelf
  std::string unknown;
  std::string doubtful;  ///< contradiction within the row or with the machine; empty: none
  std::optional<double> ttft, tpot;  ///< seconds
  std::optional<double> rate;        ///< of a job: output tokens per second and chip

  /// Whether it has a measured time or rate to compare predictions with.
  [[nodiscard]] bool is_timed() const { return tpot || rate; }
  /// Predicted over measured time of an output token.
  [[nodiscard]] double time_ratio(const serving::Figures& figures) const {
    return rate ? *rate / figures.tokens_per_s_per_chip() : figures.tpot / *tpot;
  }
  /// Predicted over measured time per token, or throughput of a job, less 1.
  [[nodiscard]] double error(const serving::Figures& figures) const {
    return (rate ? 1.0 / time_ratio(figures) : time_ratio(figures)) - 1.0;
  }
};

/// Classes of measured deployments of models like this one on a system, with their errors.
/// Both are names of the shelf; throws InputError for others.
std::string support_text(const std::string& model, const std::string& system);

/// Whether an engine of the shelf has the constants of this system.
bool runs_on(std::string_view engine, std::string_view system);

/// Whether the table is one of deployments, which have the columns `model_path` and `backend`.
bool is_service_table(const CsvTable& table);

/// Throws InputError with all columns that are missing.
void check_service_columns(const CsvTable& table, InputMessages& messages);

std::string unread_service_columns(const CsvTable& table);

/// Returns the pool of a task whose chips have the memory of the measured ones, or null.
const serving::Pool* pool_like(const serving::Pool& measured, const serving::Task& task);

/// Reads the rows of the model and the chips of `like`, or all if it is null.  Throws InputError
/// with all mistakes, each with its row and column.
std::vector<MeasuredService> read_services(const CsvTable& table, InputMessages& messages,
                                           const serving::Task* like = nullptr);

// Measured deployments to compare with the front that was found for the same task.

/// The measurements of a deployment.
struct MeasuredPoint {
  std::string name;
  double tokens_per_s_per_user = 0.0;
  double tokens_per_s_per_chip = 0.0;
  double dollars_per_mtoken = 0.0;  ///< with the price of the pool
};

/// Deployments of a table (docs/serving.md, section 8) with the model, the mean lengths, a
/// precision and the chips of the task.  Throws InputError for another table.
std::vector<MeasuredPoint> measured_points(const CsvTable& table, const serving::Task& task);

}  // namespace dfsearch
