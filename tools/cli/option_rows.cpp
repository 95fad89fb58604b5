#include "cli/option_rows.hpp"

#include <fmt/format.h>

#include <iterator>

#include "cli/commands.hpp"
#include "cli/option_setters.hpp"
#include "io/emit/emit_result.hpp"
#include "io/text/joined.hpp"
#include "model/objective_rows.hpp"

namespace dfsearch {
namespace {

using Line = CommandLine;

template <HasWords E>
std::string one_of() {
  return listed(all_names<E>(), " or ");
}
std::string emit_formats() {
  std::string text = "launch arguments of " + one_of<Framework>();
  for (const EmitFormatRow& row : kEmitFormatRows) {
    text += fmt::format("; {}: {}", row.name, row.content);
  }
  return text;
}

/// FLOP/s of a chip.
constexpr Interval kRateLimits{1, 1e24};

constexpr Times kRepeatable = Times::Repeatable, kRequired = Times::Required, kOnce = Times::Once;
constexpr std::int64_t kMostAnswers = 1'000'000;
constexpr std::int64_t kMostChips = 1'000'000'000;
constexpr std::int64_t kMostSharing = 1 << 20;
constexpr std::int64_t kLargestMatrix = 1'000'000'000;
constexpr std::int64_t kMostPasses = 8;

// The rows.

constexpr OptionRow kJson{"--json", "FILE|-",
                          "the result as JSON (docs/results.md); with - in place of the report",
                          set<&Line::json>};
constexpr OptionRow kOutput{"-o,--output", "FILE|-", "the file to write (-: standard output)",
                            set<&Line::output>};
constexpr OptionRow kThreads{"--threads",
                             "N",
                             "worker threads, 1 to 1024 (all hardware threads)",
                             set<&Line::search, &SearchRequest::threads>,
                             kOnce,
                             kMostThreads};
constexpr OptionRow kQuiet{"--quiet", "", "no progress", set<&Line::quiet>};
constexpr OptionRow kHtml{"--html", "FILE", "the result as a page for the browser, in one file",
                          set<&Line::html>};
constexpr OptionRow kDetail{"--detail", "",
                            "for a deployment, print the kernels of its iterations, their shares "
                            "of the roofline, and the keys of the engine that set these",
                            set<&Line::detail>};

constexpr OptionRow kSize{"--size", "NAME=VALUE",
                          "the size of a dimension that a model of ONNX names", set<&Line::sizes>,
                          kRepeatable};
constexpr OptionRow kUnknown{"--unknown", "refuse|elementwise",
                             "treatment of unknown operators of a model of ONNX (refuse)",
                             set_word<&Line::unknown_operators>};
constexpr OptionRow kFamilies{
    "--families", "DIR",
    "read families of models from DIR/*.yaml, in addition to the built-in ones (docs/formats.md)",
    families_folder};

constexpr OptionRow kConfig[] = {
    {"--config", "CONFIG", "the config, as an alternative to the argument CONFIG",
     set<&Line::config_option>},
    {"--set", "KEY=VALUE", "override a key of the config: system.network.0.degree=16",
     set<&Line::overrides>, kRepeatable},
    {"--system", "NAME",
     "replace the machine of the config by one of 'dfsearch list systems', or by a file",
     system_name},
    {"--chips", "N", "the number of chips of the machine", chip_count, kOnce, kMostChips},
    kFamilies,
    kSize,
    kUnknown};

constexpr OptionRow kSolve[] = {
    kThreads,
    {"--gap", "G", "stop once (best - lower bound) / best is at most G, from 0 to 1 (0)",
     set<&Line::search, &SearchRequest::gap>},
    {"--time-limit", "T", "stop after this time: '20 min', '90 s'",
     set<&Line::search, &SearchRequest::time_limit>},
    {"--memory-limit", "B",
     "memory of the search: '4 GiB'; near this limit the search uses methods that need less (half "
     "of the machine)",
     memory_limit},
    {"--node-limit", "N", "stop after N nodes of the search",
     set<&Line::search, &SearchRequest::node_limit>},
    {"--objective", "O", "minimise this objective of a mapping, as search.objective", objective,
     kOnce, OptionRow::kAny, one_of<Objective>},
    {"--top", "K",
     "report the K best parallelisms, or the K best splits of a budget (by default the best one, "
     "and how far the next one is if that is found quickly)",
     set<&Line::search, &SearchRequest::top>, kOnce, kMostAnswers},
    kJson,
    kHtml,
    {"--mapping", "FILE", "write the answer as JSON, which --hint and evaluate read",
     set<&Line::mapping>},
    {"--emit", "FRAMEWORK=FILE",
     "write the answer as 'dfsearch emit' does: --emit megatron=launch.sh; chakra takes a prefix "
     "of files",
     emit_to},
    {"--hint", "FILE",
     "start from this result; it is ignored if it does not fit or the config excludes it",
     set<&Line::hint>},
    {"--checkpoint", "FILE",
     "save the state of the search in FILE every few seconds, and resume from FILE if it exists",
     set<&Line::checkpoint>},
    {"--resume", "FILE", "resume from a file of --checkpoint, with the same config",
     set<&Line::resume>},
    {"--events", "FILE|-",
     "write the events of the search as JSON lines; with - they replace the report",
     set<&Line::events>},
    {"--no-bound", "NAME",
     "do not use one of the bounds below: the search is slower, the answer is the same", drop_bound,
     kRepeatable},
    {"--robust", "",
     "with 'training' and a stack, also find the plan of least regret over the intervals of the "
     "stack's constants (docs/truth.md)",
     set<&Line::search, &SearchRequest::robust>},
    {"--what-if", "",
     "report the exact gain of 10 % more of each quantity of the machine, by a search for each",
     set<&Line::search, &SearchRequest::what_if>},
    {"--count", "",
     "count the plans, executions or deployments that fit; for mappings, print the size of the "
     "space only",
     set<&Line::search, &SearchRequest::count>},
    {"--deterministic", "",
     "expand the same nodes and print the same log and answer with any number of threads",
     set<&Line::search, &SearchRequest::deterministic>},
    {"--quiet", "", "print neither progress nor report", set<&Line::quiet>},
    {"--verbose", "",
     "print a line of progress for every better mapping, and the effort of each technique at the "
     "end",
     set<&Line::verbose>},
    kDetail};

constexpr OptionRow kEvaluate[] = {
    kDetail,
    {"--mapping", "FILE", "the answer to evaluate: a result of solve, or YAML with its keys",
     set<&Line::mapping>},
    {"--solution", "FILE",
     "or a solution of an exported program; decisions that neither the program nor the config "
     "contains are then read from --mapping",
     set<&Line::solution>},
    kJson,
    kHtml,
    {"--quiet", "", "print neither progress nor report", set<&Line::quiet>}};

constexpr OptionRow kGraph[] = {
    {"--format", "F",
     "yaml or json: a config of 'kind: graph' with exact numbers; dot: a picture for Graphviz "
     "(yaml)",
     set<&Line::format>},
    {"--mapping", "FILE", "for dot: cluster the kernels by partition", set<&Line::mapping>},
    kOutput};

constexpr OptionRow kImport[] = {
    {"--counts", "",
     "for a model of Hugging Face: parameters, FLOP at 4,096 tokens, cache and states as JSON, in "
     "place of the section",
     set<&Line::model_counts>},
    kFamilies,
    kSize,
    kUnknown,
    kOutput};

constexpr OptionRow kExport[] = {
    {"--part", "P", "fusion: partitions and cores of a layer, or sharding (fusion)",
     set<&Line::part>},
    {"--format", "F", "mps or lp (by the ending of FILE, else mps)", set<&Line::model_format>},
    {"--mapping", "FILE",
     "a result with the network, tile, micro-batch and sharding that the config does not fix",
     set<&Line::mapping>},
    kOutput};

constexpr OptionRow kTable[] = {kJson};

constexpr OptionRow kMesh[] = {
    {"--axis", "N", "number of members of an axis that is a ring: the last sends to the first",
     mesh_axis, kRepeatable},
    {"--open", "N",
     "number of members of an axis that is a pipeline: the last does not send to the first",
     open_axis, kRepeatable},
    {"--torus", "", "a link joins the first and the last chip of each row and column",
     set<&Line::mesh, &Mesh::closed>},
    kJson};

constexpr OptionRow kGemm[] = {
    {"--shape", "MxKxN", "extents of the GEMM", shape, kRepeatable},
    {"--lstm", "BxDxVxLxS",
     "a training step of a language model of L LSTM layers of width D over a vocabulary V, with "
     "batches of B samples of S steps",
     lstm_model, kRepeatable},
    {"--word", "B", "size of an element ('2 B')", word_size},
    {"--published", "", "also the time of the public code of DeepFlow", set<&Line::published>},
    {"--intensities", "P",
     "FLOP for each word of memory traffic, over all tiles that fit the outermost level and all "
     "ways to divide the GEMM among P chips",
     set<&Line::shared_by>, kRepeatable, kMostSharing},
    kJson};

constexpr OptionRow kHpl[] = {
    {"--n", "N", "rows of the matrix", set<&Line::hpc, &HpcLine::n>, kRequired, kLargestMatrix},
    {"--block", "B", "columns of a panel (64 to 2048 in steps of 64)",
     set<&Line::hpc, &HpcLine::blocks>, kRepeatable, kLargestMatrix},
    {"--grid", "PxQ", "processes, one on each chip (all grids)", hpl_grid},
    {"--rate", "R", "measured rate of a chip in wide products (its peak)",
     set_within<kRateLimits, &Line::hpc, &HpcLine::rate>},
    {"--lookahead", "", "factor the next panel during the update (default: the faster way)",
     set_lookahead<true>},
    {"--no-lookahead", "", "run panel, swap and update one after the other; excludes --lookahead",
     set_lookahead<false>},
    kJson};

constexpr OptionRow kFft[] = {
    {"--points", "N, NxN or NxNxN", "points along one to three dimensions", fft_size, kRequired},
    {"--element", "c64|c128", "a complex point (c64)", fft_element},
    {"--real", "", "real input: half of the bytes and of the work",
     set<&Line::hpc, &HpcLine::real>},
    {"--layout", "slab|pencil", "the layout of the points on the chips (the faster one)",
     set<&Line::hpc, &HpcLine::layout>},
    {"--transposed", "", "leave the output in the order of the last exchange",
     set<&Line::hpc, &HpcLine::transposed>},
    {"--repack", "N", "passes for packing: 2 of MPI libraries, 0 if fused (1)", fft_repack, kOnce,
     kMostPasses},
    {"--fast", "B", "memory that a core has for a pass (the SRAM of the chip)",
     set_within<kSizeLimits, &Line::hpc, &HpcLine::fast>},
    kJson};

constexpr OptionRow kCollective[] = {
    {"--operation", "NAME",
     "all_reduce, all_gather, reduce_scatter, all_to_all or broadcast (all_reduce)",
     set<&Line::hpc, &HpcLine::operation>},
    {"--bytes", "B", "size of the whole data; for all_to_all, of the data of a member",
     set_within<kSizeLimits, &Line::hpc, &HpcLine::bytes>, kRequired},
    {"--nccl", "a100|h100|b200", "also the time that NCCL reaches on such chips of one node",
     set_word<&Line::hpc, &HpcLine::nccl>},
    kJson};

constexpr OptionRow kPredict[] = {
    {"--by", "GROUP", "group the table of errors by source, model, gpu or gpus (source)",
     set<&Line::run_groups>, kRepeatable},
    {"--worst", "N", "print the N runs with the largest errors, and the largest part of each (5)",
     set<&Line::worst>, kOnce, kMostAnswers},
    {"--html", "PAGE", "predicted against measured times, and the tables, as a page",
     set<&Line::html>},
    {"-o,--output", "OUT.csv", "time, interval, parts, memory and error of each run",
     set<&Line::output>},
    {"--fit", "FILE.yaml",
     "fit the constants that a stack lists as fitted to its timed runs, or those of an engine to "
     "its deployments, with cross-validation; write the stack or engine to FILE and use it",
     set<&Line::fit>},
    {"--leave-out", "COLUMN",
     "print errors with constants fitted without all runs of the same COLUMN: model, release, gpu "
     "or source",
     set<&Line::left_out>},
    {"--stack", "NAME", "the stack or engine to fit, required if the table has several",
     set<&Line::fit_stack>},
    {"--holdout", "SHARE|COLUMN=VALUE", "do not fit to these runs, and print their errors",
     holdout},
    {"--stacks", "DIR", "DIR/NAME.yaml replaces the built-in stack or chip NAME",
     set<&Line::stacks>},
    kThreads,
    kQuiet};

constexpr OptionRow kEmit[] = {
    {"--for", "FRAMEWORK", "the form of the answer", set<&Line::emit_for>, kRequired,
     OptionRow::kAny, emit_formats},
    {"-o,--output", "FILE|-",
     "the file to write (-: standard output); comments list the decisions without an argument. For "
     "chakra a prefix: FILE.N.et for each chip N, and FILE.json with their groups",
     set<&Line::output>},
    {"--anyway", "",
     "write an answer that the framework cannot run, with a comment that says so (by default "
     "refused with exit status 3)",
     set<&Line::anyway>}};

constexpr OptionRow kStudy[] = {
    {"-o,--output", "DIR",
     "the folder for results.ndjson, results.csv, front.json and study.json (default: the name of "
     "STUDY); the same command resumes a study that was stopped",
     set<&Line::study, &StudyLine::output>},
    {"--points", "", "list the points", study_points},
    {"--print", "POINT",
     "print the config of a point, given by its number or as 'sram=640 MiB,link=pcie'",
     study_print},
    {"--dry-run", "", "check the study, and print which axes bound boxes of points", study_dry_run},
    {"--only", "AXIS=LABEL,...", "only the points with these labels",
     set<&Line::study, &StudyLine::only>, kRepeatable},
    {"--all", "", "solve all points, also those that the front does not need",
     set<&Line::study, &StudyLine::all>},
    {"--shard", "K/N", "solve the K-th of N parts only; 'study merge' joins their folders", shard},
    {"--threads", "N", "number of points solved at once, with a thread each (all hardware threads)",
     set<&Line::search, &SearchRequest::threads>, kOnce, kMostThreads},
    {"--gap", "G", "gap of each point, as for solve", set<&Line::search, &SearchRequest::gap>},
    {"--time-limit", "T", "stop the whole run after this time",
     set<&Line::search, &SearchRequest::time_limit>},
    {"--point-time-limit", "T", "stop a point after this time",
     set<&Line::study, &StudyLine::point_time_limit>},
    {"--node-limit", "N", "stop a point after N nodes",
     set<&Line::search, &SearchRequest::node_limit>},
    {"--memory-limit", "B", "memory of all points that are solved at once, as for solve",
     memory_limit},
    {"--deterministic", "",
     "write no times, so that sorted results have the same bytes with any number of threads",
     set<&Line::search, &SearchRequest::deterministic>},
    kFamilies,
    kQuiet};

constexpr OptionRow kReport[] = {kOutput};

constexpr UsageRow kSolveUsage[] = {{"CONFIG [options]", "search, report, exit"}};
constexpr UsageRow kEvaluateUsage[] = {
    {"CONFIG --mapping FILE", "cost of a given mapping, plan or deployment"}};
constexpr UsageRow kCheckUsage[] = {{"CONFIG", "read and validate only"}};
constexpr UsageRow kGraphUsage[] = {
    {"CONFIG [options]", "the dataflow graph as a config or picture"}};
constexpr UsageRow kImportUsage[] = {
    {"MODEL [-o FILE]", "a model or trace of another program as a config"}};
constexpr UsageRow kExportUsage[] = {
    {"CONFIG [options]", "a mixed-integer program for other solvers"}};
constexpr UsageRow kChipUsage[] = {
    {"CONFIG... [options]", "chips derived from technologies and budgets"}};
constexpr UsageRow kGemmUsage[] = {
    {"CONFIG --shape MxKxN", "the time of a GEMM alone on such a chip"},
    {"CONFIG --lstm BxDxVxLxS", "the time of a training step of an LSTM there"}};
constexpr UsageRow kHplUsage[] = {{"CONFIG --n N", "the best run of HPL on such a machine"}};
constexpr UsageRow kFftUsage[] = {
    {"CONFIG --points NxN", "the best layout of a Fourier transform there"}};
constexpr UsageRow kCollectiveUsage[] = {
    {"CONFIG --bytes B", "the time of a collective by algorithm"}};
constexpr UsageRow kMeshUsage[] = {
    {"WxH --axis N...", "placements of axes of parallelism on a mesh"}};
constexpr UsageRow kPredictUsage[] = {
    {"TABLE.csv [-o OUT.csv]", "times of measured runs or deployments, and errors"}};
constexpr UsageRow kSupportUsage[] = {
    {"MODEL SYSTEM", "number of similar deployments that were measured, and errors"}};
constexpr UsageRow kEmitUsage[] = {
    {"RESULT --for FRAMEWORK", "a plan or deployment as launch arguments or traces"}};
constexpr UsageRow kStudyUsage[] = {
    {"STUDY [-o DIR] [options]", "all points of a design space, or its exact front"},
    {"merge DIR... -o DIR", "join the folders of parts of a study"}};
constexpr UsageRow kListUsage[] = {
    {"[KIND] [--json FILE|-]", "systems, workloads, studies and configs by name"}};
constexpr UsageRow kSchemaUsage[] = {{"", "the keys of a CONFIG as a JSON Schema"}};
constexpr UsageRow kReportUsage[] = {
    {"RESULT... [-o PAGE.html]", "a page of results, of a study, or of a folder"}};
constexpr UsageRow kCompletionUsage[] = {{"SHELL", "completion of words for bash, or 'manual'"}};

constexpr bool kConfigs = true, kSeveral = true;

constexpr CommandRow kCommands[] = {
    {run_solve, "solve", kSolveUsage, "config", kSolve, finish_solve, kConfigs, !kSeveral, "",
     R"(  dfsearch --config gpt3_1t.yaml --threads 64
  dfsearch configs/gpt3_1t.yaml --time-limit '20 min' --json result.json --mapping best.json
  dfsearch configs/gpt3_1t.yaml --html page.html
  dfsearch configs/gpt3_1t.yaml --set execution.partitions=8 --hint best.json
  dfsearch configs/gpt3_1t_free.yaml --top 5
  dfsearch configs/training/llama3_70b_2048_h100.yaml
  dfsearch configs/calculon_1t.yaml --count
  dfsearch configs/gpt3_1t_free.yaml --checkpoint run.ck    # run it again to resume
  dfsearch configs/transformers/llama3_70b.yaml --set workload.model=qwen2_5_72b
)"},
    {run_evaluate, "evaluate", kEvaluateUsage, "config", kEvaluate, finish_evaluate, kConfigs,
     !kSeveral, "",
     R"(  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json
  dfsearch evaluate configs/gpt3_1t.yaml --mapping best.json --solution fusion.sol
)"},
    {run_check, "check", kCheckUsage, "config", {}, nullptr},
    {run_graph, "graph", kGraphUsage, "config", kGraph, finish_graph, kConfigs, !kSeveral, "",
     "  dfsearch graph configs/gpt3_1t.yaml --format dot --mapping best.json | dot -Tsvg -o "
     "g.svg\n"},
    {run_import, "import", kImportUsage, "setup", kImport, nullptr, !kConfigs, !kSeveral,
     "A MODEL is a config.json of Hugging Face, with the hf_quant_config.json beside it; a setup "
     "of DFModel (protobuf text); an execution trace of Chakra (.et); or a model of ONNX, which "
     "the package of Python reads. Models and traces become a section 'workload', or a config "
     "without a machine. All of them can also be the CONFIG of another command.",
     R"(  dfsearch import setup.txt -o gpt3_1t_again.yaml
  dfsearch import model.onnx --size batch=8
  dfsearch config.json --system h100_dgx --chips 8
)"},
    {run_export, "export", kExportUsage, "config", kExport, nullptr, kConfigs, !kSeveral, "",
     "  dfsearch export configs/gpt3_1t.yaml --mapping best.json -o fusion.mps\n"},
    {run_chip, "chip", kChipUsage, "config", kTable, nullptr, kConfigs, kSeveral,
     "A config of a chip needs its system only (docs/technology.md). Of several configs each is a "
     "row of one table; a folder means all configs in it.",
     "  dfsearch chip configs/chips/v100.yaml\n  dfsearch chip configs/chips\n"},
    {run_gemm, "gemm", kGemmUsage, "config", kGemm, finish_gemm, kConfigs, !kSeveral, "",
     "  dfsearch gemm configs/chips/v100.yaml --shape 4096x4096x4096 --published\n"},
    {run_hpl, "linpack", kHplUsage, "config", kHpl, nullptr, kConfigs, !kSeveral,
     "A config needs its system only, as for chip (docs/hpc.md)."},
    {run_fft, "fourier", kFftUsage, "config", kFft, finish_fft, kConfigs, !kSeveral,
     "A config needs its system only, as for chip (docs/hpc.md)."},
    {run_collective, "collective", kCollectiveUsage, "config", kCollective, nullptr, kConfigs,
     !kSeveral, "A config needs its system only, as for chip (docs/collectives.md)."},
    {run_mesh, "mesh", kMeshUsage, "mesh", kMesh, finish_mesh, !kConfigs, !kSeveral,
     "Axes are numbered from 0 and placed in every order, innermost first. They fill the mesh "
     "column by column, all columns upwards, or every second one downwards (a snake)."},
    {run_predict, "predict", kPredictUsage, "table of runs", kPredict, finish_predict, !kConfigs,
     !kSeveral,
     "A table of training runs (docs/truth.md), or of deployments that serve (docs/serving.md), "
     "for which only -o and --worst apply."},
    {run_support,
     "support",
     kSupportUsage,
     "model",
     {},
     nullptr,
     !kConfigs,
     kSeveral,
     "MODEL and SYSTEM are names of the shelf (dfsearch list); the errors are those of "
     "docs/serving.md, section 8.",
     "  dfsearch support gpt_oss_120b h200_dgx\n"},
    {run_emit, "emit", kEmitUsage, "result", kEmit, finish_emit, !kConfigs, !kSeveral,
     "RESULT is a file of --json with a plan of training or a deployment."},
    {run_study, "study", kStudyUsage, "study", kStudy, finish_study, !kConfigs, kSeveral, "",
     "  dfsearch study configs/studies/sram_bandwidth.yaml -o sram --threads 2\n"},
    {run_list, "list", kListUsage, "kind", kTable, finish_list, !kConfigs, !kSeveral,
     "A KIND is systems, workloads or studies (all of these), or configs. The names hold in every "
     "folder: 'dfsearch NAME', 'dfsearch study NAME', and in a CONFIG 'system: {from: NAME}'.",
     "  dfsearch list systems\n"},
    {run_schema, "schema", kSchemaUsage, "schema", {}, nullptr, !kConfigs},
    {run_report, "report", kReportUsage, "result", kReport, nullptr, !kConfigs, kSeveral,
     "RESULT is a file of --json, the folder of a study, or a folder of results, whose page lists "
     "them: -o DIR/index.html. Graphviz draws the graph if it is installed.",
     "  dfsearch report result.json -o page.html\n"},
    {run_completion,
     "completion",
     kCompletionUsage,
     "shell",
     {},
     finish_completion,
     !kConfigs,
     !kSeveral,
     "",
     "  source <(dfsearch completion bash)\n  dfsearch completion manual > dfsearch.1\n"}};

}  // namespace

std::vector<std::string> OptionRow::all_names() const {
  const std::string_view all = names;
  const std::size_t comma = all.find(',');
  if (comma == std::string_view::npos) return {std::string(all)};
  return {std::string(all.substr(0, comma)), std::string(all.substr(comma + 1))};
}

std::string OptionRow::name() const { return all_names().back(); }

std::vector<OptionRow> CommandRow::options() const {
  std::vector<OptionRow> rows;
  if (takes_config) rows.assign(std::begin(kConfig), std::end(kConfig));
  rows.insert(rows.end(), own_options.begin(), own_options.end());
  return rows;
}

std::span<const CommandRow> command_rows() { return kCommands; }
std::span<const OptionRow> config_options() { return kConfig; }

}  // namespace dfsearch
