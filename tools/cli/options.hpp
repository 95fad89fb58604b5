#pragma once
// The command line -> values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/words.hpp"
#include "io/config/shelf.hpp"
#include "io/emit/emit_result.hpp"
#include "io/predict/fit.hpp"
#include "io/solve/question.hpp"
#include "model/hpc/fft.hpp"
#include "model/hpc/hpl.hpp"
#include "model/layer/shard.hpp"
#include "model/machine/mesh_placement.hpp"
#include "technology/gemm.hpp"
#include "technology/lstm.hpp"

namespace dfsearch {

struct CommandRow;

/// Output of `dfsearch completion`: for a shell, or the manual page.
enum class Shell { Bash, Manual };
constexpr auto words(Shell) {
  return named<Shell>({{"bash", Shell::Bash}, {"manual", Shell::Manual}});
}

enum class GraphFormat { Yaml, Json, Dot };
constexpr auto words(GraphFormat) {
  return named<GraphFormat>(
      {{"yaml", GraphFormat::Yaml}, {"json", GraphFormat::Json}, {"dot", GraphFormat::Dot}});
}
enum class ModelFormat { Mps, Lp };
constexpr auto words(ModelFormat) {
  return named<ModelFormat>({{"mps", ModelFormat::Mps}, {"lp", ModelFormat::Lp}});
}
enum class ModelPart { Fusion, Sharding };
constexpr auto words(ModelPart) {
  return named<ModelPart>({{"fusion", ModelPart::Fusion}, {"sharding", ModelPart::Sharding}});
}

/// A part of a study, counted from 0.
struct StudyShard {
  std::int64_t part = 0;
  std::int64_t of = 1;
};

/// Options that only `dfsearch study` has.  Names of files are as given; empty: not given.
struct StudyLine {
  enum class Task {
    Run,
    List,   ///< --points
    Print,  ///< --print POINT
    DryRun,
    Merge,  ///< of the folders in CommandLine::more_configs
  };
  Task task = Task::Run;
  std::string output;  ///< a folder; left out: the name of the study's file
  bool output_is_named = true;
  std::string point;
  std::vector<std::string> only;
  StudyShard shard;
  std::optional<Seconds> point_time_limit;
  bool all = false;
};

/// Options of `dfsearch linpack`, `fourier` and `collective`.
struct HpcLine {
  std::int64_t n = 0;                ///< rows of a matrix
  std::vector<std::int64_t> blocks;  ///< empty: 64 to 2048
  std::optional<HplGrid> grid;       ///< left out: all grids
  std::optional<bool> lookahead;
  FlopsPerSecond rate{};            ///< measured rate of products of a chip; zero: its peak
  std::vector<std::int64_t> sides;  ///< points along the dimensions of a transform
  std::optional<FftLayout> layout;  ///< left out: both layouts
  bool transposed = false;          ///< the output may be in the order of the last exchange
  Bytes element{8.0};
  bool real = false;
  std::optional<std::int64_t> repack;  ///< passes for packing
  Bytes fast{};                        ///< memory of a core; zero: the SRAM of the chip
  collective::Kind operation = collective::Kind::AllReduce;
  Bytes bytes{};
  std::string nccl;  ///< chip whose measured shares are used
};

/// The command with its inputs and options.  Names of files are as given; empty: not given; "-":
/// standard output, for results.
struct CommandLine {
  const CommandRow* command = nullptr;  ///< of option_rows.hpp
  std::string words;                    ///< the command itself in shell notation
  std::string config;                   ///< the input: a setup for import, a result for report
  std::string config_option;            ///< value of --config; `config` is then the same
  /// Options from a section of the config, with the places and names of their keys.
  std::vector<std::pair<std::string, std::string>> from_section;
  std::vector<std::string> more_configs;  ///< after the first, for chip, study and report
  std::vector<std::string> overrides;
  std::vector<std::string> sizes;  ///< NAME=VALUE, sizes of named dimensions of a model of ONNX
  std::string unknown_operators;   ///< for a model of ONNX: refuse or elementwise; empty: not given
  std::string imported;            ///< the text of the config made of a model of ONNX
  std::string json;
  std::string html;
  std::string mapping;  ///< written by solve, read by other commands
  std::string hint;
  std::string checkpoint;
  std::string resume;
  std::string events;
  std::string solution;  ///< of a solver, read by evaluate
  std::string output = "-";
  std::vector<RunGroup> run_groups;     ///< groups of the table of errors; none: by source
  std::string stacks;                   ///< a folder whose files override files of the shelf
  std::string fit;                      ///< file for the fitted stack
  std::string fit_stack;                ///< the stack to fit; empty: the only one
  HeldOut held_out;                     ///< runs that the fit does not use
  std::string left_out;                 ///< a column whose values are left out one by one, or empty
  std::int64_t worst = 5;               ///< number of predictions shown, greatest errors first
  std::vector<Shard> shapes;            ///< of GEMMs
  std::vector<LstmModel> lstms;         ///< models whose steps are timed
  Mesh mesh;                            ///< its sides are the input
  std::vector<MeshAxis> axes;           ///< axes to be placed on the mesh
  std::vector<std::int64_t> shared_by;  ///< chips, for the intensities of all tiles of a GEMM
  std::vector<ShelfKind> kinds = {ShelfKind::Systems, ShelfKind::Workloads,
                                  ShelfKind::Studies};  ///< kinds to be listed
  Bytes word{2.0};                                      ///< size of the elements of GEMMs and LSTMs
  bool published = false;                               ///< also print the times of DeepFlow's code
  std::optional<EmitFormat> emit_for;                   ///< format of the launch arguments
  bool anyway = false;                                  ///< also write answers that it cannot run
  std::string emitted;                                  ///< file of solve --emit; empty: none
  Shell shell = Shell::Bash;                            ///< the shell whose completion is printed
  GraphFormat format = GraphFormat::Yaml;
  std::optional<ModelFormat> model_format;  ///< left out: by the ending of the output's name
  ModelPart part = ModelPart::Fusion;
  /// Threads are 0 if left out, and at least 1 once the line of a search is read.
  SearchRequest search{.threads = 0};
  /// Start of the time limit.
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool model_counts = false;  ///< print counts in place of an imported section
  bool quiet = false;
  bool verbose = false;
  bool detail = false;  ///< report kernels in detail
  StudyLine study;      ///< options that only studies have
  HpcLine hpc;
};

struct HelpText {
  std::string text;
};

/// Throws InputError, with a suggestion, for unknown words.
std::variant<CommandLine, HelpText> parse_command_line(int argc, const char* const* argv);

// Readers of values of options, whose errors contain the expectation.

inline constexpr std::int64_t kMostThreads = 1024;

/// Throws an InputError that ends with a reference to the help.
[[noreturn]] void usage_error(const std::string& message);

/// A whole number from `least` to `most`.
std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t most,
                         std::int64_t least = 1);

/// All hardware threads, at most kMostThreads.
int hardware_threads();

/// Throws for a word that is no choice of an option or input.
[[noreturn]] void refuse_word(const std::string& option, const std::string& word,
                              std::span<const std::string_view> known);

template <HasWords E>
E parse_word(const std::string& option, const std::string& text) {
  if (const auto value = value_named<E>(text)) return *value;
  refuse_word(option, text, all_names<E>());
}

/// Converts the value of an option; errors of `convert` get the name of the option.
template <class Convert>
auto converted(const std::string& option, Convert convert) {
  try {
    return convert();
  } catch (const InputError& error) {
    usage_error(option + ": " + error.messages().front());
  }
}

/// Memory that this process may use: the machine's, or the limit of a control group or of the
/// shell.
Bytes machine_memory();

}  // namespace dfsearch
