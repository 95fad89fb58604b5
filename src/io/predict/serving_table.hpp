#pragma once
// A table of measured deployments that serve, one a row, as comma-separated values
// (docs/serving.md, section 8).

#include <optional>
#include <string>
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
  std::string doubtful;  ///< in what the row contradicts itself or the machine; empty: in nothing
  std::optional<double> ttft, tpot;  ///< seconds
};

/// Whether a table is one of deployments: it has their columns `model_path` and `backend`.
bool is_service_table(const CsvTable& table);

/// Throws InputError with all columns that are missing.
void check_service_columns(const CsvTable& table, InputMessages& messages);

/// CsvTable::unknown_columns of such a table.
std::string unread_service_columns(const CsvTable& table);

/// Throws InputError with all mistakes, each with its row and column.
std::vector<MeasuredService> read_services(const CsvTable& table, InputMessages& messages);

}  // namespace dfsearch
