#pragma once
// The commands, each in a file of its own except for short ones.  All return the exit status, and
// throw InputError for wrong input and for files that cannot be written.

#include <memory>
#include <string>

#include "cli/options.hpp"
#include "cluster/cluster.hpp"
#include "engine/search_result.hpp"
#include "io/config/load_config.hpp"
#include "io/result/outcome.hpp"

namespace dfsearch {

int run_solve(const CommandLine& line);
int run_evaluate(const CommandLine& line);
int run_check(const CommandLine& line);
int run_graph(const CommandLine& line);
int run_import(const CommandLine& line);
int run_export(const CommandLine& line);
int run_chip(const CommandLine& line);
int run_gemm(const CommandLine& line);
/// HPL, FFT and collectives in closed form (docs/hpc.md, docs/collectives.md).
int run_hpl(const CommandLine& line);
int run_fft(const CommandLine& line);
int run_collective(const CommandLine& line);
/// All placements of axes of parallelism on a mesh.
int run_mesh(const CommandLine& line);
/// A table of training runs, or of deployments.
int run_predict(const CommandLine& line);
/// Prints the classes of measured deployments of a model on a system.
int run_support(const CommandLine& line);
int run_emit(const CommandLine& line);
int run_study(const CommandLine& line);
int run_list(const CommandLine& line);
int run_schema(const CommandLine& line);
/// The page of a result, of several results, of the folder of a study, or of a folder of results.
int run_report(const CommandLine& line);
int run_completion(const CommandLine& line);

/// Replaces an input that is a model of ONNX by the config that the Python package makes of it.
void import_onnx(CommandLine& line);

/// Runs the command of the line.
int run(CommandLine line);

enum ExitStatus : int {
  kProved = 0,
  kInternalError = 1,
  kInputError = 2,
  kInfeasible = 3,
  kStoppedWithMapping = 4,
  kStoppedWithout = 5,
};

/// The exit status of a search.
inline int exit_status(SearchStatus status) {
  switch (status) {
    case SearchStatus::Optimal:
      return kProved;
    case SearchStatus::Feasible:
      return kStoppedWithMapping;
    case SearchStatus::Infeasible:
      return kInfeasible;
    case SearchStatus::NoSolution:
      return kStoppedWithout;
  }
  return kInternalError;
}

/// Thrown if the chip of a config cannot be built; ends every command that needs the chip.
struct NoSuchChip {
  Config config;
};

/// The config of the command line, for a command that needs a machine that can run.  Throws
/// InputError, and NoSuchChip.
Config load_runnable(const CommandLine& line);
/// The config of a command that searches: the budget may leave some decisions open.
Config load_searchable(const CommandLine& line);
/// A config of any kind for a command that searches.
AnyConfig load_any_searchable(const CommandLine& line);

/// The outcome with the chip of the config, if it has one; the config must outlive it.
Outcome with_chip(Outcome outcome, const Config& config);

/// Reports why there is no chip; returns the exit status.
int report_no_chip(const CommandLine& line, const Config& config);

/// The chip of a config that need not have other sections.  Throws InputError, and NoSuchChip.
Config load_chip(const CommandLine& line);

/// Connects the processes of MPI; null if the program runs alone.  Throws InputError if MPI started
/// it and it was built without MPI.
std::unique_ptr<study::Cluster> open_cluster();

/// Throws InputError if MPI has started several processes: each would run all of `command`.
void refuse_many_processes(const char* command);

/// Hardware threads for each process, if several run on one machine.
int threads_of_a_process(int hardware_threads);

/// A line of --version about MPI, or nothing.
std::string cluster_text();

}  // namespace dfsearch
