#pragma once
// What the commands do, a file each but for the short ones.  All return the exit status, and throw
// InputError for input that is wrong and for files that cannot be written.

#include "cli/exit_status.hpp"
#include "cli/options.hpp"

namespace dfsearch {

int run_solve(const CommandLine& line);
int run_evaluate(const CommandLine& line);
int run_check(const CommandLine& line);
int run_graph(const CommandLine& line);
int run_import(const CommandLine& line);
int run_export(const CommandLine& line);
int run_chip(const CommandLine& line);
int run_gemm(const CommandLine& line);
/// All placements of axes of parallelism on a mesh.
int run_mesh(const CommandLine& line);
/// A table of training runs, or of deployments.
int run_predict(const CommandLine& line);
int run_emit(const CommandLine& line);
int run_study(const CommandLine& line);
int run_list(const CommandLine& line);
int run_schema(const CommandLine& line);
/// The page of a result, of several, of the folder of a study, or of a folder of results.
int run_report(const CommandLine& line);
int run_completion(const CommandLine& line);

/// Puts the config that a model of ONNX is into the line, if its input is one: it is read by the
/// package of Python.
void import_onnx(CommandLine& line);

/// Runs the command of the line.
int run(CommandLine line);

}  // namespace dfsearch
