#include "cli/option_rows.hpp"

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "base/units_text.hpp"
#include "cli/commands.hpp"
#include "cli/option_values.hpp"
#include "io/huggingface/family_file.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMostAnswers = 1'000'000;
constexpr std::int64_t kMostNodes = std::numeric_limits<std::int64_t>::max();

using Line = CommandLine;
using Text = std::string;

// Readers of options of many commands.  `members` is the path to the member that is set, which for
// a study begins with Line::study.

template <auto... members>
void text(Line& line, const Text&, const Text& value) {
  (line.*....*members) = value;
}
template <auto... members>
void flag(Line& line, const Text&, const Text&) {
  (line.*....*members) = true;
}
template <auto... members>
void append(Line& line, const Text&, const Text& value) {
  (line.*....*members).push_back(value);
}
template <class E>
void take(E& to, const Text& option, const Text& value) {
  to = parse_word<E>(option, value);
}
template <class E>
void take(std::optional<E>& to, const Text& option, const Text& value) {
  to = parse_word<E>(option, value);
}
template <class E>
void take(std::vector<E>& to, const Text& option, const Text& value) {
  to.push_back(parse_word<E>(option, value));
}
template <auto member>
void word(Line& line, const Text& option, const Text& value) {
  take(line.*member, option, value);
}
template <auto member, std::int64_t most>
void count(Line& line, const Text& option, const Text& value) {
  line.*member = parse_count(option, value, most);
}
template <auto... members>
void time(Line& line, const Text& option, const Text& value) {
  (line.*....*members) = parse_time(option, value);
}

void threads(Line& line, const Text&, const Text& value) { line.threads = parse_threads(value); }
void gap(Line& line, const Text&, const Text& value) { line.gap = parse_gap(value); }
void memory(Line& line, const Text&, const Text& value) {
  line.memory_limit = parse_memory_limit(value);
}

void chips(Line& line, const Text& option, const Text& value) {
  constexpr std::int64_t kMostChips = 1'000'000'000;
  line.overrides.push_back("system.chips=" +
                           std::to_string(parse_count(option, value, kMostChips)));
}

// The rows.

constexpr OptionRow kJson{"--json", "FILE|-",
                          "the result as JSON (docs/results.md); with - in place of the report",
                          text<&Line::json>};
constexpr OptionRow kOutput{"-o,--output", "FILE|-", "where to write it (-)", text<&Line::output>};

constexpr OptionRow kSize{"--size", "NAME=VALUE",
                          "of a dimension that a model of ONNX names; repeatable",
                          append<&Line::sizes>, true};

constexpr OptionRow kUnknown{"--unknown", "refuse|elementwise",
                             "what becomes of operators of a model of ONNX that are not known "
                             "(refuse)",
                             unknown_operators};

constexpr OptionRow kFamilies{
    "--families", "DIR",
    "the families of models in the files DIR/*.yaml beside those of the program (docs/formats.md)",
    [](Line&, const Text&, const Text& value) { add_families(value); }};

constexpr OptionRow kConfig[] = {
    {"--config", "CONFIG", "the config, as the word CONFIG says it", text<&Line::config_option>},
    {"--set", "KEY=VALUE", "override a key of the config, system.network.0.degree=16; repeatable",
     append<&Line::overrides>, true},
    {"--system", "NAME",
     "the machine, in place of that of the config: one of 'dfsearch list systems' or a file",
     system_name},
    {"--chips", "N", "its number of chips", chips},
    kFamilies,
    kSize,
    kUnknown};

constexpr OptionRow kSolve[] = {
    {"--threads", "N", "worker threads, 1 to 1024 (all hardware threads)", threads},
    {"--gap", "G", "stop once (best - lower bound) / best is at most G, from 0 to 1 (0)", gap},
    {"--time-limit", "T", "stop after so long, a quantity such as '20 min' or '90 s'",
     time<&Line::time_limit>},
    {"--memory-limit", "B",
     "near so many bytes kept by the search, a quantity such as '4 GiB', it goes on with less "
     "(half of the machine)",
     memory},
    {"--node-limit", "N", "stop after so many nodes of the search",
     count<&Line::node_limit, kMostNodes>},
    {"--objective", "O",
     "what to minimise: step_time, or its product with the price or power of the machine: "
     "cost_efficiency, power_efficiency",
     objective},
    {"--top", "K",
     "the best answer for each of the K best parallelisms (the best one, and how far the next one "
     "is if that is soon found); of a budget that leaves something out the K best splits",
     count<&Line::top, kMostAnswers>},
    kJson,
    {"--html", "FILE", "the result as a page for the browser, in one file (docs/pages.md)",
     text<&Line::html>},
    {"--mapping", "FILE", "the mapping found, as JSON that --hint and evaluate read",
     text<&Line::mapping>},
    {"--emit", "FRAMEWORK=FILE",
     "what 'dfsearch emit' writes of the answer: --emit megatron=launch.sh; of chakra a prefix",
     emit_to},
    {"--hint", "FILE", "a result to start from; dropped if it does not fit or is ruled out",
     text<&Line::hint>},
    {"--checkpoint", "FILE",
     "keep the state of the search there, and go on from the one that is there; a kill loses "
     "seconds",
     text<&Line::checkpoint>},
    {"--resume", "FILE", "go on from such a state, with the same config", text<&Line::resume>},
    {"--events", "FILE|-", "what happens, as JSON lines; with - in place of the report",
     text<&Line::events>},
    {"--no-bound", "NAME",
     "search without one of the bounds below: the same answer, only later; repeatable", drop_bound,
     true},
    {"--robust", "",
     "with 'training' and a stack: the plan of least regret as well, whatever the stack's "
     "constants turn out to be (docs/truth.md)",
     flag<&Line::robust>},
    {"--what-if", "",
     "what a tenth more of each quantity of the machine brings, exactly: one search for each",
     flag<&Line::what_if>},
    {"--count", "",
     "of plans, executions and deployments: how many fit, of the whole space; of mappings, which "
     "are too many to count so, the space alone",
     flag<&Line::count>},
    {"--deterministic", "",
     "the same nodes, log and one of equal answers for any number of threads",
     flag<&Line::deterministic>},
    {"--quiet", "", "no progress and no report", flag<&Line::quiet>},
    {"--verbose", "",
     "a line of progress for every better mapping, and at the end what the parts of the search did",
     flag<&Line::verbose>}};

constexpr OptionRow kEvaluate[] = {
    {"--mapping", "FILE", "the answer: a result of solve, or YAML with its keys",
     text<&Line::mapping>},
    {"--solution", "FILE",
     "or what a solver found for an exported program; then --mapping decides what the program took "
     "as given, if the config leaves it open",
     text<&Line::solution>},
    kJson,
    {"--html", "FILE", "the result as a page", text<&Line::html>},
    {"--quiet", "", "no progress and no report", flag<&Line::quiet>}};

constexpr OptionRow kGraph[] = {
    {"--format", "F",
     "yaml or json: a config of 'kind: graph' with exact numbers; dot: a picture for Graphviz "
     "(yaml)",
     word<&Line::format>},
    {"--mapping", "FILE", "for dot: cluster the kernels by partition", text<&Line::mapping>},
    kOutput};

constexpr OptionRow kImport[] = {
    {"--counts", "",
     "of a model of Hugging Face: parameters, FLOP at 4,096 tokens, cache and states as JSON, in "
     "place of the section",
     flag<&Line::model_counts>},
    kFamilies,
    kSize,
    kUnknown,
    {"-o,--output", "FILE|-", "where to write the config, or the section (-)",
     text<&Line::output>}};

constexpr OptionRow kExport[] = {
    {"--part", "P", "fusion: partitions and cores of a layer, or sharding (fusion)",
     word<&Line::part>},
    {"--format", "F", "mps or lp (as FILE ends, else mps)", word<&Line::model_format>},
    {"--mapping", "FILE",
     "network, tile, micro-batch and sharding of a result; needed where the config leaves them "
     "open",
     text<&Line::mapping>},
    kOutput};

constexpr OptionRow kChip[] = {
    {"--json", "FILE|-", "the chips as JSON; with - in place of the tables", text<&Line::json>}};

constexpr OptionRow kMesh[] = {
    {"--axis", "N", "members of an axis, whose last one talks to the first; repeatable", mesh_axis,
     true},
    {"--open", "N", "the same of one whose ends do not talk, a pipeline; repeatable", open_axis,
     true},
    {"--torus", "", "the first and the last chip of a row or column are joined",
     [](Line& line, const Text&, const Text&) { line.mesh.closed = true; }},
    {"--json", "FILE|-", "as JSON; with - in place of the table", text<&Line::json>}};

constexpr OptionRow kGemm[] = {
    {"--shape", "MxKxN", "extents of the GEMM; repeatable", shape, true},
    {"--lstm", "BxDxVxLxS",
     "a training step of a language model of L LSTM layers of width D over a vocabulary V, with "
     "batches of B samples of S steps; repeatable",
     lstm_model, true},
    {"--word", "B", "size of an element ('2 B')", word_size},
    {"--published", "", "beside it the time that the public code of DeepFlow gives",
     flag<&Line::published>},
    {"--intensities", "P",
     "FLOP for a word of the memory over all tiles that the outermost level holds, of the GEMM "
     "that "
     "P chips share in every way; repeatable",
     sharing_chips, true},
    {"--json", "FILE|-", "the times as JSON; with - in place of the table", text<&Line::json>}};

constexpr std::int64_t kLargestMatrix = 1'000'000'000;
constexpr std::int64_t kMostPasses = 8;

void hpl_rows(Line& line, const Text& option, const Text& value) {
  line.hpc.n = parse_count(option, value, kLargestMatrix);
}
void hpl_block(Line& line, const Text& option, const Text& value) {
  line.hpc.blocks.push_back(parse_count(option, value, kLargestMatrix));
}
void hpl_rate(Line& line, const Text& option, const Text& value) {
  line.hpc.rate = converted(option, [&] { return parse_quantity<FlopsPerSecond>(value); });
}
template <bool has>
void lookahead(Line& line, const Text&, const Text&) {
  line.hpc.lookahead = has;
}
template <auto member>
void hpc_bytes(Line& line, const Text& option, const Text& value) {
  line.hpc.*member = converted(option, [&] { return parse_quantity<Bytes>(value); });
}
void fft_layout(Line& line, const Text& option, const Text& value) {
  line.hpc.layout = parse_word<FftLayout>(option, value);
}
void fft_element(Line& line, const Text& option, const Text& value) {
  constexpr std::array<std::string_view, 2> kElements = {"c64", "c128"};
  if (value != kElements[0] && value != kElements[1]) refuse_word(option, value, kElements);
  line.hpc.element = Bytes(value == kElements[0] ? 8.0 : 16.0);
}
void fft_repack(Line& line, const Text& option, const Text& value) {
  line.hpc.repack = value == "0" ? 0 : parse_count(option, value, kMostPasses);
}
void operation(Line& line, const Text& option, const Text& value) {
  line.hpc.operation = parse_word<collective::Kind>(option, value);
}

constexpr OptionRow kJsonOfTable{"--json", "FILE|-", "as JSON; with - in place of the lines",
                                 text<&Line::json>};

constexpr OptionRow kHpl[] = {
    {"--n", "N", "rows of the matrix", hpl_rows},
    {"--block", "B", "columns of a panel; repeatable (64 to 2048 in steps of 64)", hpl_block, true},
    {"--grid", "PxQ", "processes, one on each chip (all grids)", hpl_grid},
    {"--rate", "R", "of wide products of a chip, as measured (its peak)", hpl_rate},
    {"--lookahead", "", "the next panel is factored during the update", lookahead<true>},
    {"--no-lookahead", "", "panel, swap and update one after the other", lookahead<false>},
    kJsonOfTable};

constexpr OptionRow kFft[] = {
    {"--points", "N[xN[xN]]", "points along one to three dimensions", fft_size},
    {"--element", "c64|c128", "a complex point (c64)", fft_element},
    {"--real", "", "real input: half of the bytes and of the work",
     flag<&Line::hpc, &HpcLine::real>},
    {"--layout", "slab|pencil", "how points lie on chips (the faster one)", fft_layout},
    {"--transposed", "", "the output may stay as the last exchange leaves it",
     flag<&Line::hpc, &HpcLine::transposed>},
    {"--repack", "N", "passes that packing adds: 2 of MPI libraries, 0 if fused (1)", fft_repack},
    {"--fast", "B", "what a core holds of a pass (the SRAM of the chip)",
     hpc_bytes<&HpcLine::fast>},
    kJsonOfTable};

constexpr OptionRow kCollective[] = {
    {"--operation", "NAME",
     "all_reduce, all_gather, reduce_scatter, all_to_all or broadcast (all_reduce)", operation},
    {"--bytes", "B", "of the whole, or of what a member of an all_to_all sends",
     hpc_bytes<&HpcLine::bytes>},
    {"--nccl", "a100|h100|b200", "beside it what NCCL reaches on such chips of one node",
     nccl_chip},
    kJsonOfTable};

constexpr OptionRow kPredict[] = {
    {"--by", "GROUP", "the table of errors by source, model, gpu or gpus (source); repeatable",
     word<&Line::run_groups>, true},
    {"--worst", "N", "tell the N runs that are farthest off, and the largest part of each (5)",
     count<&Line::worst, kMostAnswers>},
    {"--html", "PAGE", "predicted against measured times, and the tables, as a page",
     text<&Line::html>},
    {"-o,--output", "OUT.csv", "time, interval, parts, memory and error of each run",
     text<&Line::output>},
    {"--fit", "STACK.yaml",
     "fit the constants that a stack marks to its timed runs, cross-validated; write the stack "
     "there, and use it",
     text<&Line::fit>},
    {"--stack", "NAME", "the stack to fit, if runs have several", text<&Line::fit_stack>},
    {"--holdout", "SHARE|COLUMN=VALUE", "runs that the fit does not see; their error stands beside",
     holdout},
    {"--stacks", "DIR", "DIR/NAME.yaml goes before the stack or chip NAME of the shelf",
     text<&Line::stacks>},
    {"--threads", "N", "worker threads (all hardware threads)", threads},
    {"--quiet", "", "no progress", flag<&Line::quiet>}};

constexpr OptionRow kEmit[] = {
    {"--for", "FRAMEWORK",
     "arguments of megatron, torchtitan or deepspeed, or of vllm, sglang or trtllm; chakra: traces "
     "of the step of a plan; inferencex: rows of a deployment or a front",
     word<&Line::emit_for>},
    {"-o,--output", "FILE|-",
     "where to write (-); comments list what arguments do not contain. Of chakra a prefix: "
     "FILE.N.et "
     "for each chip N, and FILE.json with their groups",
     text<&Line::output>},
    {"--anyway", "",
     "write what the framework cannot run, too, below a comment; without it that is refused, with "
     "exit status 3",
     flag<&Line::anyway>}};

constexpr OptionRow kStudy[] = {
    {"-o,--output", "DIR",
     "the folder for results.ndjson, results.csv, front.json and study.json (the name of STUDY); "
     "the same command goes on with a study that was stopped",
     text<&Line::study, &StudyLine::output>},
    {"--points", "", "list the points",
     [](Line& line, const Text&, const Text&) { study_task(line, StudyLine::Task::List); }},
    {"--print", "POINT",
     "the whole config of a point, by its number or as 'sram=640 MiB,link=pcie'",
     [](Line& line, const Text&, const Text& value) {
       study_task(line, StudyLine::Task::Print);
       line.study.point = value;
     }},
    {"--dry-run", "", "check the study, and say which axes bound boxes of points",
     [](Line& line, const Text&, const Text&) { study_task(line, StudyLine::Task::DryRun); }},
    {"--only", "AXIS=LABEL,...", "the points with these labels only; repeatable",
     append<&Line::study, &StudyLine::only>, true},
    {"--all", "", "solve all points, not only those that the front needs",
     flag<&Line::study, &StudyLine::all>},
    {"--shard", "K/N", "the K-th of N parts; 'study merge' puts their folders together", shard},
    {"--threads", "N", "points side by side, a thread each (all hardware threads)", threads},
    {"--gap", "G", "of each point, as for solve", gap},
    {"--time-limit", "T", "stop the whole run after so long", time<&Line::time_limit>},
    {"--point-time-limit", "T", "stop a point after so long",
     time<&Line::study, &StudyLine::point_time_limit>},
    {"--node-limit", "N", "stop a point after so many nodes", count<&Line::node_limit, kMostNodes>},
    {"--memory-limit", "B", "of all points that are solved at once, as for solve", memory},
    {"--deterministic", "",
     "no times in the results: the same bytes, once sorted, for any number of threads",
     flag<&Line::deterministic>},
    kFamilies,
    {"--quiet", "", "no progress", flag<&Line::quiet>}};

constexpr OptionRow kList[] = {
    {"--json", "FILE|-", "the list as JSON; with - in place of the table", text<&Line::json>}};

constexpr OptionRow kReport[] = {
    {"-o,--output", "FILE|-", "where to write the page (-)", text<&Line::output>}};

constexpr UsageRow kSolveUsage[] = {{"CONFIG [options]", "search, report, exit"}};
constexpr UsageRow kEvaluateUsage[] = {
    {"CONFIG --mapping FILE", "cost of a given mapping, plan or deployment"}};
constexpr UsageRow kCheckUsage[] = {{"CONFIG", "read and validate only"}};
constexpr UsageRow kGraphUsage[] = {
    {"CONFIG [options]", "the dataflow graph as a config or picture"}};
constexpr UsageRow kImportUsage[] = {
    {"SETUP.txt [-o CONFIG]", "a setup of DFModel (protobuf text) as a config"},
    {"config.json [-o FILE]",
     "a model of Hugging Face as a section 'workload', with the hf_quant_config.json beside it"},
    {"TRACE.et [-o FILE]", "an execution trace of Chakra as a section 'workload'"},
    {"MODEL.onnx [--size NAME=VALUE]",
     "a model of ONNX as a config without a machine, by the package of Python"}};
constexpr UsageRow kExportUsage[] = {
    {"CONFIG [options]", "a mixed-integer program for other solvers"}};
constexpr UsageRow kChipUsage[] = {
    {"CONFIG... [options]", "the chips that technologies and budgets give"}};
constexpr UsageRow kGemmUsage[] = {
    {"CONFIG --shape MxKxN", "the time of a GEMM alone on such a chip"},
    {"CONFIG --lstm BxDxVxLxS", "the time of a training step of an LSTM there"}};
constexpr UsageRow kHplUsage[] = {{"CONFIG --n N", "the best run of HPL on such a machine"}};
constexpr UsageRow kFftUsage[] = {
    {"CONFIG --points N[xN[xN]]", "the best layout of a Fourier transform there"}};
constexpr UsageRow kCollectiveUsage[] = {
    {"CONFIG --bytes B", "the time of a collective by algorithm"}};
constexpr UsageRow kMeshUsage[] = {
    {"WxH --axis N...", "where axes of parallelism are on a mesh, and links they share"}};
constexpr UsageRow kPredictUsage[] = {
    {"TABLE.csv [-o OUT.csv]", "times of measured runs or deployments, and errors"}};
constexpr UsageRow kEmitUsage[] = {
    {"RESULT --for FRAMEWORK", "a plan or deployment as launch arguments, traces or rows"}};
constexpr UsageRow kStudyUsage[] = {
    {"STUDY [-o DIR] [options]", "all points of a design space, or its exact front"},
    {"merge DIR... -o DIR", "parts of a study put together"}};
constexpr UsageRow kListUsage[] = {
    {"[KIND] [--json FILE|-]", "systems, workloads, studies and configs by name"}};
constexpr UsageRow kSchemaUsage[] = {{"", "the keys of a CONFIG as a JSON Schema"}};
constexpr UsageRow kReportUsage[] = {
    {"RESULT... [-o PAGE.html]", "a page of results, of a study, or of a folder of them"}};
constexpr UsageRow kCompletionUsage[] = {
    {"SHELL", "completion of words for bash; 'manual': a manual page"}};

constexpr CommandRow kCommands[] = {
    {run_solve, "solve", kSolveUsage, "config", kSolve, finish_solve},
    {run_evaluate, "evaluate", kEvaluateUsage, "config", kEvaluate, finish_evaluate},
    {run_check, "check", kCheckUsage, "config", {}, nullptr},
    {run_graph, "graph", kGraphUsage, "config", kGraph, finish_graph},
    {run_import, "import", kImportUsage, "setup", kImport, nullptr,
     "All of these stand for a CONFIG as well: dfsearch config.json --system h100_dgx --chips 8.",
     false},
    {run_export, "export", kExportUsage, "config", kExport, nullptr},
    {run_chip, "chip", kChipUsage, "config", kChip, nullptr,
     "A config of a chip needs its system only (docs/technology.md).  Of several each is a row of "
     "one table; a folder stands for all configs in it.",
     true, true},
    {run_gemm, "gemm", kGemmUsage, "config", kGemm, finish_gemm},
    {run_hpl, "linpack", kHplUsage, "config", kHpl, finish_hpl,
     "A config needs its system only, as for chip (docs/hpc.md)."},
    {run_fft, "fourier", kFftUsage, "config", kFft, finish_fft,
     "A config needs its system only, as for chip (docs/hpc.md)."},
    {run_collective, "collective", kCollectiveUsage, "config", kCollective, finish_collective,
     "A config needs its system only, as for chip (docs/collectives.md)."},
    {run_mesh, "mesh", kMeshUsage, "mesh", kMesh, finish_mesh,
     "Axes count from 0 and are placed in every order, innermost first, column after column: all "
     "upwards, or every second one downwards as a snake.",
     false},
    {run_predict, "predict", kPredictUsage, "table of runs", kPredict, finish_predict,
     "A table of training runs (docs/truth.md); of deployments that serve (docs/serving.md) with "
     "-o "
     "and --worst alone.",
     false},
    {run_emit, "emit", kEmitUsage, "result", kEmit, finish_emit,
     "RESULT is what --json wrote of a plan of training or a deployment.", false},
    {run_study, "study", kStudyUsage, "study", kStudy, finish_study, "", false, true},
    {run_list, "list", kListUsage, "kind", kList, finish_list,
     "A KIND is systems, workloads or studies (all of these), or configs; all have their names in "
     "every folder: 'dfsearch NAME', 'dfsearch study NAME', and in a CONFIG 'system: {from: "
     "NAME}'.",
     false},
    {run_schema, "schema", kSchemaUsage, "schema", {}, nullptr, "", false},
    {run_report, "report", kReportUsage, "result", kReport, nullptr,
     "RESULT is what --json wrote, the folder of a study, or a folder of results, whose page lists "
     "them: -o DIR/index.html.  The graph is drawn by Graphviz where it is installed.",
     false, true},
    {run_completion,
     "completion",
     kCompletionUsage,
     "shell",
     {},
     finish_completion,
     "source <(dfsearch completion bash); dfsearch completion manual > dfsearch.1.",
     false}};

}  // namespace

std::string_view OptionRow::name() const {
  const std::string_view all = names;
  const std::size_t comma = all.rfind(',');
  return comma == std::string_view::npos ? all : all.substr(comma + 1);
}

std::span<const CommandRow> command_rows() { return kCommands; }
std::span<const OptionRow> config_rows() { return kConfig; }

}  // namespace dfsearch
