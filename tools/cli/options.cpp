#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "base/version.hpp"
#include "cli/help.hpp"
#include "cli/option_values.hpp"
#include "cli/study_cluster.hpp"
#include "io/config/load_config.hpp"
#include "io/text/input_messages.hpp"

// The version of the project is a definition of this file (tools/CMakeLists.txt).
static_assert(std::string_view(dfsearch::kVersion) == DFSEARCH_VERSION,
              "base/version.hpp and CMakeLists.txt give different versions");

namespace dfsearch {
namespace {

constexpr std::int64_t kMostAnswers = 1'000'000;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 31;
constexpr std::array<std::string_view, 14> kCommands = {
    "solve", "evaluate", "check", "graph",  "import", "export", "chip",
    "gemm",  "predict",  "emit",  "report", "list",   "schema", "study"};

/// The help, with the bounds that the engine knows.
std::string help_text() {
  std::string bounds;
  for (const SearchBoundName& bound : kSearchBounds) {
    bounds += fmt::format("  {:<16} {}\n", bound.name, bound.meaning);
  }
  return fmt::format(kHelp, bounds);
}

/// The values of options as they stand on the command line, before any is
/// converted: CLI11's own conversions do not say what was expected.
struct Texts {
  std::string positional;
  std::string config;
  std::string threads;
  std::string gap;
  std::string time_limit;
  std::string memory_limit;
  std::string node_limit;
  std::string top;
  std::string objective;
  std::string format;
  std::string part;
  std::vector<std::string> no_bound;
  std::vector<std::string> shapes;
  std::string word;
  std::vector<std::string> by;
  std::string worst;
  std::string holdout;
  std::string framework;
  bool help = false;
};

/// Whether it reads something that is no config.
bool takes_other_file(Command command) {
  return command == Command::Import || command == Command::Report || command == Command::Predict ||
         command == Command::Emit;
}

void declare_common(CLI::App& app, CommandLine& line, Texts& texts) {
  app.set_help_flag();
  app.add_flag("-h,--help", texts.help);
  if (line.command == Command::Schema) {
    app.allow_extras();
    return;
  }
  app.add_option("CONFIG", texts.positional);
  if (line.command == Command::Chip) app.add_option("CONFIGS", line.more_configs);
  app.allow_extras();
  if (line.command == Command::List) {
    app.add_option("--json", line.json);
    return;
  }
  if (line.command == Command::Predict) {
    app.add_option("--by", texts.by)->expected(1)->take_all()->allow_extra_args(false);
    app.add_option("--worst", texts.worst);
    app.add_option("--stacks", line.stacks);
    app.add_option("--fit", line.fit);
    app.add_option("--stack", line.fit_stack);
    app.add_option("--holdout", texts.holdout);
    app.add_flag("--quiet", line.quiet);
    app.add_option("--html", line.html);
    app.add_option("--threads", texts.threads);
  }
  if (line.command == Command::Emit) app.add_option("--for", texts.framework);
  if (takes_other_file(line.command)) {
    app.add_option("-o,--output", line.output);
    return;
  }
  app.add_option("--config", texts.config);
  // One value each, so that the config may follow.
  app.add_option("--set", line.overrides)->expected(1)->take_all()->allow_extra_args(false);
}

void declare_options(CLI::App& app, CommandLine& line, Texts& texts) {
  declare_common(app, line, texts);
  if (line.command == Command::Check || takes_other_file(line.command) ||
      line.command == Command::List || line.command == Command::Schema) {
    return;
  }
  if (line.command == Command::Chip) {
    app.add_option("--json", line.json);
    return;
  }
  if (line.command == Command::Gemm) {
    app.add_option("--json", line.json);
    app.add_option("--shape", texts.shapes)->expected(1)->take_all()->allow_extra_args(false);
    app.add_option("--word", texts.word);
    app.add_flag("--published", line.published);
    return;
  }
  app.add_option("--mapping", line.mapping);
  if (line.command == Command::Graph) {
    app.add_option("--format", texts.format);
    app.add_option("-o,--output", line.output);
    return;
  }
  if (line.command == Command::Export) {
    app.add_option("--format", texts.format);
    app.add_option("--part", texts.part);
    app.add_option("-o,--output", line.output);
    return;
  }
  app.add_option("--json", line.json);
  app.add_option("--html", line.html);
  app.add_flag("--quiet", line.quiet);
  if (line.command == Command::Evaluate) {
    app.add_option("--solution", line.solution);
    return;
  }
  app.add_option("--threads", texts.threads);
  app.add_option("--gap", texts.gap);
  app.add_option("--time-limit", texts.time_limit);
  app.add_option("--memory-limit", texts.memory_limit);
  app.add_option("--node-limit", texts.node_limit);
  app.add_option("--top", texts.top);
  app.add_option("--objective", texts.objective);
  app.add_option("--hint", line.hint);
  app.add_option("--checkpoint", line.checkpoint);
  app.add_option("--resume", line.resume);
  app.add_option("--events", line.events);
  app.add_option("--no-bound", texts.no_bound)->expected(1)->take_all()->allow_extra_args(false);
  app.add_flag("--count", line.count);
  app.add_flag("--robust", line.robust);
  app.add_flag("--deterministic", line.deterministic);
  app.add_flag("--verbose", line.verbose);
}

std::string_view input_of(Command command) {
  if (command == Command::List) return "kind";
  if (command == Command::Report || command == Command::Emit) return "result";
  if (command == Command::Predict) return "table of runs";
  if (command == Command::Schema) return "schema";
  return command == Command::Import ? "setup" : "config";
}

/// The command line as a shell takes it, without where the page goes: that does not change what
/// the page shows.
std::string shell_text(const std::vector<std::string>& words) {
  std::string text = "dfsearch";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with("--html=")) continue;
    if (words[i] == "--html") {
      ++i;
      continue;
    }
    const bool plain =
        !words[i].empty() && words[i].find_first_not_of(
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-./=:,+%@") == std::string::npos;
    std::string quoted = "'";
    for (const char c : words[i]) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += " " + (plain ? words[i] : quoted + "'");
  }
  return text;
}

/// Two outputs in one file would destroy each other; some are files in any case.
void refuse_shared_outputs(const CommandLine& line) {
  for (const auto& [option, file] :
       {std::pair("--html", &line.html), std::pair("--mapping", &line.mapping),
        std::pair("--checkpoint", &line.checkpoint), std::pair("--resume", &line.resume),
        std::pair("--fit", &line.fit)}) {
    if (*file == "-") usage_error(fmt::format("{}: expected a file, got '-'", option));
  }
  const std::string output = line.command == Command::Predict ? line.output : "";
  const std::array outputs = {
      std::pair("--json", &line.json),       std::pair("--html", &line.html),
      std::pair("--mapping", &line.mapping), std::pair("--checkpoint", &line.checkpoint),
      std::pair("--events", &line.events),   std::pair("-o", &output),
      std::pair("--fit", &line.fit)};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = i + 1; j < outputs.size(); ++j) {
      const std::string& file = *outputs[i].second;
      if (file.empty() || file != *outputs[j].second) continue;
      usage_error(fmt::format("{} and {}: both go to {}", outputs[i].first, outputs[j].first,
                              in_quotes(file)));
    }
  }
}

SearchBounds parse_bounds(const std::vector<std::string>& dropped) {
  SearchBounds bounds;
  for (const std::string& text : dropped) {
    const auto known =
        std::find_if(kSearchBounds.begin(), kSearchBounds.end(),
                     [&](const SearchBoundName& bound) { return bound.name == text; });
    if (known == kSearchBounds.end()) {
      std::vector<std::string_view> names;
      for (const SearchBoundName& bound : kSearchBounds) names.push_back(bound.name);
      usage_error(fmt::format("--no-bound: expected {}, got {}{}", joined_choices(names),
                              in_quotes(text), suggestion(text, names)));
    }
    bounds.drop(known->bound);
  }
  return bounds;
}

void convert_search_options(const Texts& texts, CommandLine& line) {
  line.threads = parse_threads(texts.threads);
  if (!texts.gap.empty()) line.gap = parse_gap(texts.gap);
  if (!texts.time_limit.empty()) line.time_limit = parse_time("--time-limit", texts.time_limit);
  if (!texts.memory_limit.empty()) line.memory_limit = parse_memory_limit(texts.memory_limit);
  if (!texts.node_limit.empty()) {
    line.node_limit =
        parse_count("--node-limit", texts.node_limit, std::numeric_limits<std::int64_t>::max());
  }
  line.bounds = parse_bounds(texts.no_bound);
  if (!texts.top.empty()) line.top = parse_count("--top", texts.top, kMostAnswers);
  if (!texts.objective.empty()) line.overrides.push_back("search.objective=" + texts.objective);
  if (line.quiet && line.verbose) usage_error("--quiet and --verbose exclude each other");
  refuse_shared_outputs(line);
}

void convert_format(const Texts& texts, CommandLine& line) {
  if (texts.format == "json") {
    line.format = GraphFormat::Json;
  } else if (texts.format == "dot") {
    line.format = GraphFormat::Dot;
  } else if (texts.format == "dfmodel") {
    line.format = GraphFormat::Dfmodel;
  } else if (!texts.format.empty() && texts.format != "yaml") {
    usage_error("--format: expected yaml, json, dot or dfmodel, got " + in_quotes(texts.format));
  }
  if (!line.mapping.empty() && line.format != GraphFormat::Dot) {
    usage_error("--mapping: only --format dot shows a mapping");
  }
}

void convert_export(const Texts& texts, CommandLine& line) {
  const bool named_lp = line.output.ends_with(".lp");
  if (texts.format == "lp" || (texts.format.empty() && named_lp)) {
    line.model_format = ModelFormat::Lp;
  } else if (!texts.format.empty() && texts.format != "mps") {
    usage_error("--format: expected mps or lp, got " + in_quotes(texts.format));
  }
  if (texts.part == "sharding") {
    line.part = ModelPart::Sharding;
  } else if (!texts.part.empty() && texts.part != "fusion") {
    usage_error("--part: expected fusion or sharding, got " + in_quotes(texts.part));
  }
}

/// M x K x N of a GEMM.
Shard parse_shape(const std::string& text) {
  std::array<std::int64_t, 3> extents{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  bool right = true;
  for (std::size_t i = 0; right && i < extents.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, extents[i]);
    right = error == std::errc() && extents[i] >= 1 && extents[i] <= kMostExtent &&
            (i == 2 ? rest == end : rest != end && *rest == 'x');
    at = right && i < 2 ? rest + 1 : rest;
  }
  if (!right) {
    usage_error("--shape: expected three extents from 1 to 2^31 like 4096x1024x2048, got " +
                in_quotes(text));
  }
  return {.m = extents[0], .k = extents[1], .n = extents[2]};
}

void convert_gemm(const Texts& texts, CommandLine& line) {
  if (texts.shapes.empty()) usage_error("gemm: missing --shape MxKxN");
  for (const std::string& text : texts.shapes) line.shapes.push_back(parse_shape(text));
  if (texts.word.empty()) return;
  line.word = converted("--word", [&] { return parse_quantity<Bytes>(texts.word); });
  if (line.word < Bytes(0.125) || line.word > Bytes(1024.0)) {
    usage_error("--word: expected a size from 1 bit to 1 KiB, got " + in_quotes(texts.word));
  }
}

/// One kind of files, or all of them.
void convert_list(const Texts& texts, CommandLine& line) {
  if (texts.positional.empty()) return;
  line.kinds.push_back(ShelfKind::Configs);
  std::vector<std::string_view> names;
  for (const ShelfKind kind : line.kinds) names.emplace_back(name_of(kind));
  const auto found = std::find(names.begin(), names.end(), texts.positional);
  if (found == names.end()) {
    usage_error(fmt::format("list: expected {}, got {}{}", joined_choices(names),
                            in_quotes(texts.positional), suggestion(texts.positional, names)));
  }
  line.kinds = {line.kinds[static_cast<std::size_t>(found - names.begin())]};
}

void convert_predict(const Texts& texts, CommandLine& line) {
  std::vector<std::string_view> names;
  for (const auto& word : dfsearch::words(RunGroup{})) names.emplace_back(word.name);
  for (const std::string& by : texts.by) {
    const auto found = std::find(names.begin(), names.end(), by);
    if (found == names.end()) {
      usage_error(fmt::format("--by: expected {}, got {}{}", joined_choices(names), in_quotes(by),
                              suggestion(by, names)));
    }
    line.run_groups.push_back(static_cast<RunGroup>(found - names.begin()));
  }
  if (!texts.worst.empty()) line.worst = parse_count("--worst", texts.worst, kMostAnswers);
  line.threads = parse_threads(texts.threads);
  refuse_shared_outputs(line);
  if (line.fit.empty() && !line.fit_stack.empty()) usage_error("--stack: only with --fit");
  if (texts.holdout.empty()) return;
  if (line.fit.empty()) usage_error("--holdout: only with --fit");
  const std::size_t equals = texts.holdout.find('=');
  if (equals != std::string::npos && equals > 0) {
    line.held_out.column = texts.holdout.substr(0, equals);
    line.held_out.value = texts.holdout.substr(equals + 1);
    return;
  }
  line.held_out.share = converted("--holdout", [&] { return parse_number(texts.holdout); });
  if (!(line.held_out.share > 0.0 && line.held_out.share < 1.0)) {
    usage_error("--holdout: expected a share between 0 and 1, or COLUMN=VALUE, got " +
                in_quotes(texts.holdout));
  }
}

void convert_emit(const Texts& texts, CommandLine& line) {
  std::vector<std::string_view> names;
  for (const auto& word : dfsearch::words(Framework{})) names.emplace_back(word.name);
  const auto found = std::find(names.begin(), names.end(), texts.framework);
  if (found == names.end()) {
    usage_error(fmt::format("emit: {}, expected --for {}{}",
                            texts.framework.empty()
                                ? "missing framework"
                                : "unknown framework " + in_quotes(texts.framework),
                            joined_choices(names), suggestion(texts.framework, names)));
  }
  line.framework = static_cast<Framework>(found - names.begin());
}

/// A word where a config is expected that looks like a misspelt command.
void refuse_misspelt_command(const std::string& word) {
  if (word.find_first_of("./-") != std::string::npos) return;
  const std::string near = suggestion(word, kCommands);
  std::error_code error;
  if (near.empty() || std::filesystem::exists(word, error)) return;
  if (find_on_shelf(ShelfKind::Configs, word)) return;
  usage_error("unknown command " + in_quotes(word) + near);
}

void choose_config(const Texts& texts, std::string_view command, CommandLine& line) {
  if (texts.positional.empty() && texts.config.empty()) {
    usage_error(fmt::format("{}: missing {}", command,
                            line.command == Command::Import    ? "SETUP"
                            : line.command == Command::Report  ? "RESULT"
                            : line.command == Command::Emit    ? "RESULT"
                            : line.command == Command::Predict ? "RUNS.csv"
                                                               : "CONFIG"));
  }
  if (!texts.positional.empty() && !texts.config.empty()) {
    usage_error(fmt::format("{}: one config is enough, got {} and {}", command,
                            in_quotes(texts.config), in_quotes(texts.positional)));
  }
  line.config = texts.config.empty() ? texts.positional : texts.config;
}

/// Files that are there, or those of the shelf.
void find_configs(CommandLine& line) {
  if (takes_other_file(line.command)) return;
  line.config = find_input(line.config, ShelfKind::Configs).string();
  for (std::string& more : line.more_configs) more = find_input(more, ShelfKind::Configs).string();
}

}  // namespace

std::variant<CommandLine, StudyLine, Answer> parse_command_line(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (words.empty()) usage_error("what is to be searched? usage: dfsearch CONFIG [options]");
  if (words[0] == "help") return Answer{help_text()};
  if (words[0] == "--version") {
    return Answer{fmt::format("dfsearch {}\n{}", kVersion, cluster_text())};
  }

  if (words[0] == "study") {
    words.erase(words.begin());
    std::optional<StudyLine> line = parse_study_line(std::move(words));
    if (!line) return Answer{help_text()};
    return std::move(*line);
  }
  // A command is the first word or it is none: a config may have any name.
  CommandLine line;
  line.words = shell_text(words);
  const auto* const found = std::find(kCommands.begin(), kCommands.end(), words[0]);
  const std::string command(found == kCommands.end() ? kCommands[0] : *found);
  if (found == kCommands.end()) {
    refuse_misspelt_command(words[0]);
  } else {
    line.command = static_cast<Command>(found - kCommands.begin());
    words.erase(words.begin());
  }

  Texts texts;
  CLI::App app;
  declare_options(app, line, texts);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
  if (texts.help) return Answer{help_text()};
  refuse_extras(app, command, input_of(line.command));
  if (line.command == Command::List) {
    convert_list(texts, line);
    return line;
  }
  if (line.command == Command::Schema) return line;
  choose_config(texts, command, line);
  if (line.command == Command::Solve) convert_search_options(texts, line);
  if (line.command == Command::Graph) convert_format(texts, line);
  if (line.command == Command::Export) convert_export(texts, line);
  if (line.command == Command::Gemm) convert_gemm(texts, line);
  if (line.command == Command::Predict) convert_predict(texts, line);
  if (line.command == Command::Emit) convert_emit(texts, line);
  if (line.command == Command::Evaluate && line.mapping.empty() && line.solution.empty()) {
    usage_error("evaluate: missing --mapping FILE or --solution FILE");
  }
  find_configs(line);
  return line;
}

}  // namespace dfsearch
