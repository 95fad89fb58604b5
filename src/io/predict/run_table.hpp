#pragma once
// A table of training runs as comma-separated values, a run in each row (docs/truth.md, section 8).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/predict/csv_table.hpp"
#include "io/text/input_messages.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

/// A training run: its model, machine and plan, and its measurements.
struct MeasuredRun {
  std::string id, source, model, gpu, stack;
  std::int64_t gpus = 1;
  /// Nothing if neither the row nor the shelf has its model, or if the row describes no plan; such
  /// a run is kept without a prediction.
  std::optional<training::Task> task;
  std::shared_ptr<const stack::Stack> software;  ///< as in its file, before changes
  training::Plan plan;
  std::optional<double> step;        ///< seconds
  std::optional<double> reserved;    ///< GiB, the most that the allocator reserved
  std::optional<double> allocated;   ///< GiB, the most that it allocated
  std::optional<std::int64_t> rank;  ///< stage of both peaks; -1: the last; nothing: the fullest
  std::optional<bool> ran;           ///< false: out of memory; nothing: unknown, or another failure
  bool comparable = true;            ///< whether `step` is a property of the plan
  bool says_overlap = false;         ///< the row has its own `tensor_overlap`
  std::string guessed;               ///< blocks whose rates nobody measured: "mamba2"
  std::string note;                  ///< on cells whose values were replaced
  std::string unfit;                 ///< why the row describes no plan; it then has no task
  std::string mark;                  ///< its cell in the column RunTableOptions::mark
};

/// Options of reading a table.
struct RunTableOptions {
  std::filesystem::path folder;  ///< its stacks and chips override files of the shelf
  std::string mark;              ///< a column whose cells are kept; empty for none
};

/// Notes on unread columns whose names look like mistakes: CsvTable::unknown_columns.
std::string unread_run_columns(const CsvTable& table, const RunTableOptions& options = {});

/// Throws InputError with all mistakes, each with its row and column.  A row that describes no plan
/// is a mistake only if all rows are such rows.
std::vector<MeasuredRun> read_runs(const CsvTable& table, InputMessages& messages,
                                   const RunTableOptions& options = {});

}  // namespace dfsearch
